// Calls every endpoint with the client that openapi-generator wrote, and prints one line for each: name, tab, what differs
// from the JSON that was served.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"

	client "github.com/interop/sightline"
)

func main() {
	address, key, brand, article := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	api, data := apiAt(address, key), apiAt(strings.TrimSuffix(address, "/v1"), key)
	for field := 0; field < api.NumField(); field++ {
		name := api.Type().Field(field).Name
		// Snapshots are files.
		if !strings.HasSuffix(name, "API") || name == "ServerAPI" {
			continue
		}
		service, ids := api.Field(field), []string{brand, article}
		// Data of the pages are not below the address of the API.
		if name == "DataAPI" {
			service, ids = data.Field(field), []string{"filters"}
		}
		for index := 0; index < service.NumMethod(); index++ {
			if name := service.Type().Method(index).Name; !strings.HasSuffix(name, "Execute") {
				fmt.Printf("%s\t%s\n", name, call(service.Method(index), ids))
			}
		}
	}
}

func apiAt(address, key string) reflect.Value {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: address}}
	configuration.OperationServers = nil
	configuration.AddDefaultHeader("X-Api-Key", key)
	return reflect.ValueOf(client.NewAPIClient(configuration)).Elem()
}

// Parameters of the query of data of the pages. Methods of other requests do not have these names.
var parameters = map[string]string{"Metric": "visibility", "Metrics": "visibility", "Dimension": "engine", "Brand": os.Args[3]}

func call(method reflect.Value, ids []string) string {
	arguments := []reflect.Value{reflect.ValueOf(context.Background())}
	for position := 1; position < method.Type().NumIn(); position++ {
		arguments = append(arguments, reflect.ValueOf(ids[position-1]))
	}
	request := method.Call(arguments)[0]
	for name, value := range parameters {
		if set := request.MethodByName(name); set.IsValid() {
			argument := reflect.ValueOf(value)
			if set.Type().In(0).Kind() == reflect.Slice {
				argument = reflect.ValueOf([]string{value})
			}
			request = set.Call([]reflect.Value{argument})[0]
		}
	}
	results := request.MethodByName("Execute").Call(nil)
	if err, failed := results[len(results)-1].Interface().(error); failed {
		return strings.ReplaceAll(err.Error(), "\n", " ")
	}
	response := results[len(results)-2].Interface().(*http.Response)
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	written, err := json.Marshal(results[0].Interface())
	if err != nil {
		return err.Error()
	}
	return difference(parse(written), parse(body), "")
}

func parse(text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err.Error()
	}
	return value
}

// difference names the first place where the model lost or changed a value. Times may be written in another form.
func difference(found, expected any, path string) string {
	switch wanted := expected.(type) {
	case map[string]any:
		object, isObject := found.(map[string]any)
		if !isObject {
			return path + " is no object"
		}
		for name, value := range wanted {
			if _, has := object[name]; !has && value != nil {
				return path + "." + name + " is missing"
			}
			if told := difference(object[name], value, path+"."+name); told != "" {
				return told
			}
		}
		return ""
	case []any:
		list, isList := found.([]any)
		if !isList || len(list) != len(wanted) {
			return path + " has other items"
		}
		for index, value := range wanted {
			if told := difference(list[index], value, fmt.Sprintf("%s[%d]", path, index)); told != "" {
				return told
			}
		}
		return ""
	case string:
		if text, isText := found.(string); isText && prefix(text) == prefix(wanted) {
			return ""
		}
	}
	if reflect.DeepEqual(found, expected) {
		return ""
	}
	return fmt.Sprintf("%s is %v instead of %v", path, found, expected)
}

func prefix(text string) string {
	if len(text) > 19 && strings.HasPrefix(text, "20") && text[10] == 'T' {
		return text[:19]
	}
	return text
}
