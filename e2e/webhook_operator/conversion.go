package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

const kind = "Gadget"

type conversionReview struct {
	typeMeta
	Request  *conversionRequest  `json:"request,omitempty"`
	Response *conversionResponse `json:"response,omitempty"`
}

type conversionRequest struct {
	UID               string   `json:"uid"`
	DesiredAPIVersion string   `json:"desiredAPIVersion"`
	Objects           []fields `json:"objects"`
}

type conversionResponse struct {
	UID              string   `json:"uid"`
	ConvertedObjects []fields `json:"convertedObjects"`
	Result           status   `json:"result"`
}

func convert(response http.ResponseWriter, request *http.Request) {
	var review conversionReview
	if !readReview(response, request, &review) {
		return
	}
	if review.Request == nil {
		http.Error(response, "the ConversionReview has no request", http.StatusBadRequest)
		return
	}
	answer := &conversionResponse{UID: review.Request.UID, Result: status{Status: "Success"}}
	converted, err := convertedTo(review.Request.DesiredAPIVersion, review.Request.Objects)
	if err != nil {
		answer.Result = status{Status: "Failure", Message: err.Error()}
	}
	answer.ConvertedObjects = converted
	writeReview(response, conversionReview{typeMeta: review.typeMeta, Response: answer})
}

func convertedTo(desired string, objects []fields) ([]fields, error) {
	converted := make([]fields, 0, len(objects))
	for i, object := range objects {
		one, err := convertedObject(desired, object)
		if err != nil {
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		converted = append(converted, one)
	}
	return converted, nil
}

// convertedObject changes the object's apiVersion and where its spec has the size; everything else stays as it came,
// byte for byte.
func convertedObject(desired string, object fields) (fields, error) {
	var apiVersion, of string
	if err := json.Unmarshal(object["apiVersion"], &apiVersion); err != nil {
		return nil, fmt.Errorf("apiVersion: %w", err)
	}
	if err := json.Unmarshal(object["kind"], &of); err != nil || of != kind {
		return nil, fmt.Errorf("kind %s is not %s", object["kind"], kind)
	}
	if apiVersion == desired {
		return object, nil
	}
	group, version, _ := strings.Cut(apiVersion, "/")
	desiredGroup, desiredVersion, _ := strings.Cut(desired, "/")
	change := changes[version+" to "+desiredVersion]
	if group != desiredGroup || change == nil {
		return nil, fmt.Errorf("cannot convert %s to %s", apiVersion, desired)
	}
	object["apiVersion"], _ = json.Marshal(desired)
	if !isPresent(object["spec"]) {
		return object, nil
	}
	spec, err := member(object, "spec")
	if err != nil {
		return nil, err
	}
	if err := change(spec); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	object["spec"], err = json.Marshal(spec)
	return object, err
}

var changes = map[string]func(spec fields) error{"v1 to v2": sizeToWidth, "v2 to v1": widthToSize}

func sizeToWidth(spec fields) error {
	size, isThere := spec["size"]
	if !isThere {
		return nil
	}
	delete(spec, "size")
	dimensions, err := json.Marshal(fields{"width": size})
	spec["dimensions"] = dimensions
	return err
}

func widthToSize(spec fields) error {
	dimensions, err := member(spec, "dimensions")
	if err != nil {
		return err
	}
	delete(spec, "dimensions")
	if width, isThere := dimensions["width"]; isThere {
		spec["size"] = width
	}
	return nil
}
