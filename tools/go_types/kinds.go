package main

import (
	"go/ast"
	"log"
	"os/exec"
	"path"
	"regexp"
	"strings"
)

// Packages outside of k8s.io/api with kinds of the API server itself.
var otherPackages = []string{
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1",
}

// oldestSupported is the minor version of Kubernetes: kinds that it still serves are not removed.
const oldestSupported = 30

var version = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// allKinds maps each apiVersion to its kinds, and these to the version of Kubernetes that removed them; empty: none did.
func allKinds() map[string]map[string]string {
	out, err := exec.Command("go", "list", "k8s.io/api/...").Output()
	if err != nil {
		log.Fatal(err)
	}
	found := map[string]map[string]string{}
	for _, pkg := range append(strings.Fields(string(out)), otherPackages...) {
		if !version.MatchString(path.Base(pkg)) {
			continue
		}
		read := readSources(pkg)
		apiVersion := strings.TrimPrefix(read.group+"/"+path.Base(pkg), "/")
		kinds := map[string]string{}
		for name, declared := range read.structs {
			if isKind(declared) {
				kinds[name] = read.removed[name]
			}
		}
		if len(kinds) > 0 {
			found[apiVersion] = kinds
		}
	}
	return found
}

// isKind tells whether the struct embeds TypeMeta and ObjectMeta.
func isKind(declared *ast.StructType) bool {
	embedded := map[string]bool{}
	for _, field := range declared.Fields.List {
		if selector, ok := field.Type.(*ast.SelectorExpr); ok && len(field.Names) == 0 {
			embedded[selector.Sel.Name] = true
		}
	}
	return embedded["TypeMeta"] && embedded["ObjectMeta"]
}
