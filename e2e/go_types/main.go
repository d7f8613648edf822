// Command go_types prints what Kubernetes' Go types say about JSON: the facts that rukpak_py/formats/registry_v1/shapes.py
// reads. It walks by reflection from the types that a bundle's manifests are decoded into. To renew the table:
//
//	cd e2e/go_types && go run . > ../../rukpak_py/formats/registry_v1/typed/go_types.json
//
// The output maps the name of each named type that is reachable to [package, definition]. A definition is null (the type
// has its own JSON code), a text (the type expression that it stands for) or a list of fields in Go's order, each
// [name, type expression, option...]; the name of an embedded struct's field is empty. Two types of one name are told
// apart by their API group: "admissionregistration.ServiceReference".
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Everything else follows: pod specs, policy rules, webhook rules, metadata, JSON schemas.
var roots = []any{
	v1alpha1.ClusterServiceVersion{},
	apiextensionsv1.CustomResourceDefinition{},
	appsv1.Deployment{},
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func main() {
	found := map[string]reflect.Type{}
	for _, root := range roots {
		collect(reflect.TypeOf(root), found)
	}
	table := &table{names: map[reflect.Type]string{}}
	byName := map[string][]reflect.Type{}
	for _, t := range found {
		byName[t.Name()] = append(byName[t.Name()], t)
	}
	for name, types := range byName {
		for _, t := range types {
			table.names[t] = name
			if len(types) > 1 {
				table.names[t] = path.Base(path.Dir(t.PkgPath())) + "." + name
			}
		}
	}
	if err := table.print(); err != nil {
		log.Fatal(err)
	}
}

func collect(t reflect.Type, found map[string]reflect.Type) {
	key := t.PkgPath() + "." + t.Name()
	if t.PkgPath() != "" {
		if found[key] != nil {
			return
		}
		found[key] = t
		if hasOwnCode(t) {
			collectInside(t, found)
			return
		}
	}
	switch t.Kind() {
	case reflect.Map:
		collect(t.Key(), found)
		collect(t.Elem(), found)
	case reflect.Pointer, reflect.Slice:
		collect(t.Elem(), found)
	case reflect.Struct:
		for i := range t.NumField() {
			collect(t.Field(i).Type, found)
		}
	}
}

// collectInside follows a type with its own code only as far as it holds a JSON schema again.
func collectInside(t reflect.Type, found map[string]reflect.Type) {
	if strings.HasPrefix(t.Name(), "JSONSchemaPropsOr") {
		collect(reflect.TypeFor[apiextensionsv1.JSONSchemaProps](), found)
	}
}

func hasOwnCode(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(unmarshaler)
}

type table struct {
	names map[reflect.Type]string
}

func (t *table) print() error {
	lines := []string{}
	for named, name := range t.names {
		line, err := compact([]any{path.Base(named.PkgPath()), t.definition(named)})
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%q: %s", name, line))
	}
	slices.Sort(lines)
	_, err := fmt.Fprintf(os.Stdout, "{\n%s\n}\n", strings.Join(lines, ",\n"))
	return err
}

func compact(value any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSpace(out.String()), err
}

func (t *table) definition(named reflect.Type) any {
	if hasOwnCode(named) {
		return nil
	}
	if named.Kind() != reflect.Struct {
		return t.underlying(named)
	}
	fields := [][]string{}
	for i := range named.NumField() {
		fields = append(fields, t.field(named, named.Field(i)))
	}
	return fields
}

func (t *table) field(owner reflect.Type, field reflect.StructField) []string {
	parts := strings.Split(field.Tag.Get("json"), ",")
	if parts[0] == "-" || (parts[0] == "" && !field.Anonymous) {
		log.Fatalf("%s.%s: a field without a JSON name needs a rule in shapes.py", owner, field.Name)
	}
	options := slices.DeleteFunc(parts[1:], func(option string) bool { return option == "inline" })
	return append([]string{parts[0], t.expression(field.Type)}, options...)
}

func (t *table) expression(u reflect.Type) string {
	if name, ok := t.names[u]; ok {
		return name
	}
	return t.underlying(u)
}

func (t *table) underlying(u reflect.Type) string {
	switch u.Kind() {
	case reflect.Pointer:
		return "*" + t.expression(u.Elem())
	case reflect.Slice:
		return "[]" + t.expression(u.Elem())
	case reflect.Map:
		return "map[" + t.expression(u.Key()) + "]" + t.expression(u.Elem())
	default:
		return u.Kind().String()
	}
}
