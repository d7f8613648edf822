package main

import (
	"encoding/json"
	"fmt"
	"net/http"
)

const defaultColor = "blue"

type admissionReview struct {
	typeMeta
	Request  *admissionRequest  `json:"request,omitempty"`
	Response *admissionResponse `json:"response,omitempty"`
}

type admissionRequest struct {
	UID    string `json:"uid"`
	Object fields `json:"object"`
}

type admissionResponse struct {
	UID       string  `json:"uid"`
	Allowed   bool    `json:"allowed"`
	Status    *status `json:"status,omitempty"`
	Patch     []byte  `json:"patch,omitempty"`
	PatchType string  `json:"patchType,omitempty"`
}

type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// decision is about the spec of a new object, which may not have one.
type decision func(spec fields, isThere bool) (*admissionResponse, error)

func admission(decide decision) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		var review admissionReview
		if !readReview(response, request, &review) {
			return
		}
		if review.Request == nil {
			http.Error(response, "the AdmissionReview has no request", http.StatusBadRequest)
			return
		}
		answer := decided(review.Request.Object, decide)
		answer.UID = review.Request.UID
		writeReview(response, admissionReview{typeMeta: review.typeMeta, Response: answer})
	}
}

func decided(object fields, decide decision) *admissionResponse {
	if object == nil { // it is deleted
		return &admissionResponse{Allowed: true}
	}
	spec, err := member(object, "spec")
	if err != nil {
		return denied(err.Error())
	}
	answer, err := decide(spec, isPresent(object["spec"]))
	if err != nil {
		return denied(err.Error())
	}
	return answer
}

func mutate(spec fields, isThere bool) (*admissionResponse, error) {
	if isPresent(spec["color"]) {
		return &admissionResponse{Allowed: true}, nil
	}
	operation := patchOperation{Op: "add", Path: "/spec/color", Value: defaultColor}
	if !isThere {
		operation = patchOperation{Op: "add", Path: "/spec", Value: map[string]string{"color": defaultColor}}
	}
	patch, err := json.Marshal([]patchOperation{operation})
	return &admissionResponse{Allowed: true, Patch: patch, PatchType: "JSONPatch"}, err
}

// validate finds the size where either version has it.
func validate(spec fields, _ bool) (*admissionResponse, error) {
	dimensions, err := member(spec, "dimensions")
	if err != nil {
		return nil, err
	}
	for path, value := range map[string]json.RawMessage{"size": spec["size"], "dimensions.width": dimensions["width"]} {
		if !isPresent(value) {
			continue
		}
		var size int64
		if err := json.Unmarshal(value, &size); err != nil {
			return nil, fmt.Errorf("spec.%s must be an integer, got %s", path, value)
		}
		if size < 0 {
			return denied(fmt.Sprintf("spec.%s must not be negative, got %d", path, size)), nil
		}
	}
	return &admissionResponse{Allowed: true}, nil
}

func denied(message string) *admissionResponse {
	return &admissionResponse{Status: &status{Message: message, Code: http.StatusForbidden}}
}
