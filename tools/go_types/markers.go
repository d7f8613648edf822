package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sources reads the comments of a package, which reflection does not show.
type sources struct {
	structs map[string]*ast.StructType
	enums   map[string][]string // values of the types that are marked with +enum
	removed map[string]string   // structs, and the version of Kubernetes that removed them, before the oldest supported
	group   string              // value of the constant GroupName
}

var marker = regexp.MustCompile(`(?m)^\s*\+([A-Za-z0-9:]+)(?:=(.*))?$`)

func markersOf(groups ...*ast.CommentGroup) map[string][]string {
	found := map[string][]string{}
	for _, group := range groups {
		if group == nil {
			continue
		}
		for _, match := range marker.FindAllStringSubmatch(group.Text(), -1) {
			found[match[1]] = append(found[match[1]], match[2])
		}
	}
	return found
}

func readSources(pkg string) *sources {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		log.Fatal(pkg, ": ", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	if err != nil {
		log.Fatal(err)
	}
	read := &sources{structs: map[string]*ast.StructType{}, enums: map[string][]string{}, removed: map[string]string{}}
	constants := map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(filepath.Base(name), "generated") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			log.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			log.Fatal(err)
		}
		for _, one := range file.Decls {
			switch declared := one.(type) {
			case *ast.GenDecl:
				read.declaration(declared, constants)
			case *ast.FuncDecl:
				read.removal(declared)
			}
		}
	}
	for name := range read.enums {
		values := slices.Sorted(slices.Values(constants[name]))
		read.enums[name] = slices.Compact(values)
	}
	return read
}

func (s *sources) declaration(declared *ast.GenDecl, constants map[string][]string) {
	for _, spec := range declared.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if fields, ok := spec.Type.(*ast.StructType); ok {
				s.structs[spec.Name.Name] = fields
			}
			if _, ok := markersOf(declared.Doc, spec.Doc)["enum"]; ok {
				s.enums[spec.Name.Name] = nil
			}
		case *ast.ValueSpec:
			if declared.Tok == token.CONST && spec.Names[0].Name == "GroupName" && len(spec.Values) == 1 {
				if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
					s.group, _ = strconv.Unquote(literal.Value)
				}
			}
			named, ok := spec.Type.(*ast.Ident)
			if declared.Tok != token.CONST || !ok {
				continue
			}
			for _, value := range spec.Values {
				if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					text, err := strconv.Unquote(literal.Value)
					if err != nil {
						log.Fatal(err)
					}
					constants[named.Name] = append(constants[named.Name], text)
				}
			}
		}
	}
}

// removal reads the generated methods that name the version of Kubernetes that removes a kind.
func (s *sources) removal(declared *ast.FuncDecl) {
	if declared.Name.Name != "APILifecycleRemoved" || len(declared.Recv.List) != 1 {
		return
	}
	pointer, isPointer := declared.Recv.List[0].Type.(*ast.StarExpr)
	returned, isReturn := declared.Body.List[0].(*ast.ReturnStmt)
	if !isPointer || !isReturn || len(returned.Results) != 2 {
		log.Fatal("APILifecycleRemoved has another form")
	}
	minor := returned.Results[1].(*ast.BasicLit).Value
	if number, err := strconv.Atoi(minor); err != nil || number > oldestSupported {
		return
	}
	s.removed[pointer.X.(*ast.Ident).Name] = returned.Results[0].(*ast.BasicLit).Value + "." + minor
}

// markers is what comments say of the fields of a struct, by their JSON names.
type markers struct {
	Required []string            `json:"required,omitempty"`
	Keys     map[string][]string `json:"keys,omitempty"` // of lists that are maps
	Sets     []string            `json:"sets,omitempty"` // lists that hold each value once
	Enums    map[string][]string `json:"enums,omitempty"`
	Defaults map[string]string   `json:"defaults,omitempty"`
}

// markers maps the name of each struct of the table to what its comments say.
func (t *table) markers() map[string]markers {
	packages := map[string]*sources{}
	sourcesOf := func(pkg string) *sources {
		if packages[pkg] == nil {
			packages[pkg] = readSources(pkg)
		}
		return packages[pkg]
	}
	found := map[string]markers{}
	all := maps.Clone(t.names)
	for kind, named := range t.kinds {
		all[named] = cmp.Or(t.names[named], kind)
	}
	for named, name := range all {
		if named.Kind() != reflect.Struct || hasOwnCode(named) {
			continue
		}
		declared := sourcesOf(named.PkgPath()).structs[named.Name()]
		if declared == nil {
			log.Fatal("no source of ", keyOf(named))
		}
		one := markers{Keys: map[string][]string{}, Enums: map[string][]string{}, Defaults: map[string]string{}}
		for _, field := range declared.Fields.List {
			if len(field.Names) == 0 || field.Tag == nil {
				continue
			}
			real, _ := named.FieldByName(field.Names[0].Name)
			parts := strings.Split(real.Tag.Get("json"), ",")
			jsonName := parts[0]
			said := markersOf(field.Doc)
			_, optional := said["optional"]
			if !optional && !slices.Contains(parts, "omitempty") && !slices.Contains(parts, "omitzero") {
				one.Required = append(one.Required, jsonName)
			}
			if slices.Contains(said["listType"], "map") {
				one.Keys[jsonName] = said["listMapKey"]
			}
			if slices.Contains(said["listType"], "set") {
				one.Sets = append(one.Sets, jsonName)
			}
			if values := said["default"]; len(values) > 0 {
				one.Defaults[jsonName] = values[0]
			}
			inner := real.Type
			for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.String && inner.PkgPath() != "" {
				if values := sourcesOf(inner.PkgPath()).enums[inner.Name()]; len(values) > 0 {
					one.Enums[jsonName] = values
				}
			}
		}
		if len(one.Required)+len(one.Keys)+len(one.Sets)+len(one.Enums)+len(one.Defaults) > 0 {
			found[name] = one
		}
	}
	return found
}
