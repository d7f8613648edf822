package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
)

// An API server sends all objects of a list in one ConversionReview.
const maxBodyBytes = 16 << 20

type fields = map[string]json.RawMessage

type typeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

type status struct {
	Status  string `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	Code    int    `json:"code,omitempty"`
}

// readReview answers the request itself when it is not a review of this type.
func readReview(response http.ResponseWriter, request *http.Request, review any) bool {
	body := http.MaxBytesReader(response, request.Body, maxBodyBytes)
	err := json.NewDecoder(body).Decode(review)
	if err == nil {
		return true
	}
	code := http.StatusBadRequest
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		code = http.StatusRequestEntityTooLarge
	}
	http.Error(response, fmt.Sprintf("cannot read the review: %v", err), code)
	return false
}

func writeReview(response http.ResponseWriter, review any) {
	response.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(response).Encode(review); err != nil {
		log.Printf("an answer was not taken: %v", err)
	}
}

// member reads an object's field that is an object itself; absent and null are empty.
func member(object fields, name string) (fields, error) {
	found := fields{}
	if !isPresent(object[name]) {
		return found, nil
	}
	if err := json.Unmarshal(object[name], &found); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return found, nil
}

func isPresent(value json.RawMessage) bool {
	return len(value) > 0 && string(value) != "null"
}
