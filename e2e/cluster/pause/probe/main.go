// A pod's view of the cluster, to see that a node works: `probe serve ADDRESS` answers every request with
// its host name, `probe get PATH` asks the API server at its Service address with the pod's own token.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: probe serve ADDRESS | probe get PATH")
	}
	switch os.Args[1] {
	case "serve":
		serve(os.Args[2])
	case "get":
		get(os.Args[2])
	default:
		log.Fatalf("probe does not know %q", os.Args[1])
	}
}

func serve(address string) {
	http.HandleFunc("/", func(writer http.ResponseWriter, request *http.Request) {
		name, _ := os.Hostname()
		fmt.Fprintf(writer, "%s answers %s\n", name, request.URL.Path)
	})
	log.Printf("serving on %s", address)
	log.Fatal(http.ListenAndServe(address, nil))
}

func get(path string) {
	token, err := os.ReadFile(account + "token")
	check(err)
	authority, err := os.ReadFile(account + "ca.crt")
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := &http.Client{
		Timeout:   20 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
	}
	server := "https://" + os.Getenv("KUBERNETES_SERVICE_HOST") + ":" + os.Getenv("KUBERNETES_SERVICE_PORT")
	request, err := http.NewRequest(http.MethodGet, server+path, nil)
	check(err)
	request.Header.Set("Authorization", "Bearer "+string(token))
	answer, err := client.Do(request)
	check(err)
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	check(err)
	fmt.Printf("%d\n%s\n", answer.StatusCode, body)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
