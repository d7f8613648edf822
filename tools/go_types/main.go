// Command go_types prints what Kubernetes' Go types say about JSON: the facts that
// rukpak_py/formats/go_types/shapes.py reads. It walks by reflection from the types that a bundle's manifests
// are decoded into, and from the kinds that an API server serves by itself. To renew the table:
//
//	cd tools/go_types && go run . > ../../rukpak_py/formats/go_types/go_types.json
//	go run . markers > ../../rukpak_py/formats/go_types/go_markers.json
//	go run . kinds > ../../rukpak_py/formats/go_types/go_kinds.json
//
// The output maps the name of each named type that is reachable to [package, definition]. A definition is null (the type
// has its own JSON code), a text (the type expression that it stands for) or a list of fields in Go's order, each
// [name, type expression, option...]; the name of an embedded struct's field is empty. Two types of one name are told
// apart by their API group: "admissionregistration.ServiceReference"; where the kinds bring a name that is taken, by
// group and version: "autoscaling.v2.MetricSpec". A kind is an entry by apiVersion and name, "apps/v1/DaemonSet"; of
// kinds the status is left out, which is never applied.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Everything else follows: pod specs, policy rules, webhook rules, metadata, JSON schemas.
var roots = []any{
	v1alpha1.ClusterServiceVersion{},
	apiextensionsv1.CustomResourceDefinition{},
	appsv1.Deployment{},
}

// The stable APIs of the server itself whose objects a bundle may ship.
var builtin = runtime.NewSchemeBuilder(
	admissionregistrationv1.AddToScheme,
	apiextensionsv1.AddToScheme,
	appsv1.AddToScheme,
	autoscalingv1.AddToScheme,
	autoscalingv2.AddToScheme,
	batchv1.AddToScheme,
	corev1.AddToScheme,
	discoveryv1.AddToScheme,
	flowcontrolv1.AddToScheme,
	networkingv1.AddToScheme,
	nodev1.AddToScheme,
	policyv1.AddToScheme,
	rbacv1.AddToScheme,
	resourcev1.AddToScheme,
	schedulingv1.AddToScheme,
	storagev1.AddToScheme,
)

// Kinds that no bundle ships: they are posted to a subresource, or the cluster's own components write them.
var notShipped = []string{
	"Binding", "CSINode", "CSIStorageCapacity", "ComponentStatus", "ControllerRevision", "Event", "Eviction", "IPAddress",
	"Node", "PodStatusResult", "RangeAllocation", "ResourceSlice", "Scale", "VolumeAttachment",
}

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	objectMeta  = reflect.TypeFor[metav1.ObjectMeta]()
)

func main() {
	found := map[string]reflect.Type{}
	for _, root := range roots {
		collect(reflect.TypeOf(root), found)
	}
	table := &table{names: map[reflect.Type]string{}, kinds: kinds()}
	table.name(found, func(t reflect.Type) string { return path.Base(path.Dir(t.PkgPath())) })
	// The names of what the roots need stay as they are: messages show them.
	added := maps.Clone(found)
	for _, t := range table.kinds {
		collectFields(t, added)
	}
	for _, t := range table.kinds {
		if key := keyOf(t); added[key] == nil { // a claim is a part of StatefulSets, with its status
			added[key] = t
			table.withoutStatus = append(table.withoutStatus, t)
		}
	}
	maps.DeleteFunc(added, func(key string, _ reflect.Type) bool { return found[key] != nil })
	table.name(added, func(t reflect.Type) string {
		return path.Base(path.Dir(t.PkgPath())) + "." + path.Base(t.PkgPath())
	})
	print := table.print
	if len(os.Args) > 1 {
		print = map[string]func() error{"markers": table.printMarkers, "kinds": printKinds}[os.Args[1]]
	}
	if err := print(); err != nil {
		log.Fatal(err)
	}
}

// kinds maps apiVersion and name to the type.
func kinds() map[string]reflect.Type {
	scheme := runtime.NewScheme()
	if err := builtin.AddToScheme(scheme); err != nil {
		log.Fatal(err)
	}
	found := map[string]reflect.Type{}
	for gvk, t := range scheme.AllKnownTypes() {
		meta, ok := t.FieldByName("ObjectMeta")
		if ok && meta.Type == objectMeta && !slices.Contains(notShipped, gvk.Kind) {
			found[gvk.GroupVersion().String()+"/"+gvk.Kind] = t
		}
	}
	return found
}

func keyOf(t reflect.Type) string {
	return t.PkgPath() + "." + t.Name()
}

// collectFields follows a kind without its status, and leaves out the kind itself.
func collectFields(t reflect.Type, found map[string]reflect.Type) {
	for i := range t.NumField() {
		if t.Field(i).Name != "Status" {
			collect(t.Field(i).Type, found)
		}
	}
}

func collect(t reflect.Type, found map[string]reflect.Type) {
	key := keyOf(t)
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
	names         map[reflect.Type]string
	kinds         map[string]reflect.Type
	withoutStatus []reflect.Type
}

// name gives each type its own name, or, where that is taken, the name of its group before it.
func (t *table) name(types map[string]reflect.Type, group func(reflect.Type) string) {
	taken := map[string]int{}
	for _, name := range t.names {
		taken[name]++
	}
	for _, named := range types {
		taken[named.Name()]++
	}
	for _, named := range types {
		t.names[named] = named.Name()
		if taken[named.Name()] > 1 {
			t.names[named] = group(named) + "." + named.Name()
		}
	}
}

func (t *table) print() error {
	lines := []string{}
	for kind, named := range t.kinds {
		lines = append(lines, fmt.Sprintf("%q: [%q,%q]", kind, path.Base(named.PkgPath()), t.names[named]))
	}
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

func (t *table) printMarkers() error {
	return printEntries(t.markers())
}

func printKinds() error {
	return printEntries(allKinds())
}

func printEntries[V any](entries map[string]V) error {
	lines := []string{}
	for name, one := range entries {
		line, err := compact(one)
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
		if named.Field(i).Name != "Status" || !slices.Contains(t.withoutStatus, named) {
			fields = append(fields, t.field(named, named.Field(i)))
		}
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
