package strictyaml

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// maxErrors is how many errors are told at once.
const maxErrors = 50

// Unmarshal decodes YAML, or JSON, into a pointer to a struct. Names of fields are told
// apart by case. Its error joins all that is wrong with the fields; a value of the wrong
// kind ends the decoding, so only the first of those is told.
func Unmarshal(text []byte, into any) error {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return inWords(err)
	}
	faults, err := strictjson.UnmarshalStrict(asJSON, into)
	if err != nil {
		return inWords(err)
	}
	if len(faults) > maxErrors {
		more := len(faults) - maxErrors
		faults = append(faults[:maxErrors:maxErrors], fmt.Errorf("and %d more", more))
	}
	return errors.Join(faults...)
}

// inWords turns a decoder's error into one about the text instead of our types.
func inWords(err error) error {
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return err
	}
	where := kind.Field
	if where == "" {
		where = "the whole"
	}
	return fmt.Errorf("%s: is %s, expected %s", where, found(kind.Value), expected(kind.Type))
}

// found names what JSON calls a value: "string", or "number 0.5".
func found(value string) string {
	switch value {
	case "string":
		return "text"
	case "array":
		return "a list"
	case "object":
		return "fields with values"
	case "bool":
		return "true or false"
	default:
		return "a " + value
	}
}

// expected names a kind of value as YAML has it.
func expected(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return "another kind of value"
	}
	switch t.Kind() {
	case reflect.String:
		return "text; put it in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "fields with values"
	default:
		return strings.ToLower(t.Kind().String())
	}
}
