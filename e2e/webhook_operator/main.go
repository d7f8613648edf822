// An operator for tests whose only work is its webhooks: it defaults, validates and converts objects of the kind Gadget.
//
// Webhooks are served with TLS from the files of a mounted Secret, probes without TLS on another port. It is ready once
// a certificate was loaded. Asked to stop, it first becomes not ready and goes on serving until no client is sent here
// any more; then it finishes the requests that it has begun.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	finishTimeout  = 15 * time.Second
	headerTimeout  = 5 * time.Second
	requestTimeout = 30 * time.Second
	// Longer than an API server keeps an idle connection: it is the client who closes, so no request meets a closed one.
	idleTimeout    = 180 * time.Second
	maxHeaderBytes = 64 << 10
)

type settings struct {
	address       string
	healthAddress string
	certificates  string
	drain         time.Duration
}

func main() {
	var given settings
	flag.StringVar(&given.address, "address", ":9443", "where webhooks are served")
	flag.StringVar(&given.healthAddress, "health-address", ":8081", "where /healthz and /readyz are served")
	flag.StringVar(&given.certificates, "certificates", "/tmp/k8s-webhook-server/serving-certs",
		"the directory with tls.crt and tls.key")
	flag.DurationVar(&given.drain, "drain", 5*time.Second, "how long to serve on after becoming not ready")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, given); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, given settings) error {
	certificate := newCertificate(given.certificates)
	var draining atomic.Bool
	webhookServer := newServer(closingWhile(&draining, webhooks()))
	webhookServer.TLSConfig = &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return certificate.current()
		},
		SessionTicketsDisabled: true, // every connection is shown the certificate of its time
	}
	probeServer := newServer(probes(certificate, &draining))

	listener, err := net.Listen("tcp", given.address)
	if err != nil {
		return err
	}
	healthListener, err := net.Listen("tcp", given.healthAddress)
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- webhookServer.ServeTLS(listener, "", "") }()
	go func() { failed <- probeServer.Serve(healthListener) }()
	log.Printf("version %q watches namespaces %q, webhooks on %s, probes on %s",
		os.Getenv("OPERATOR_VERSION"), os.Getenv("WATCH_NAMESPACE"), listener.Addr(), healthListener.Addr())

	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	draining.Store(true)
	log.Printf("not ready any more, serving on for %s", given.drain)
	select {
	case err := <-failed:
		return err
	case <-time.After(given.drain):
	}
	finish, cancel := context.WithTimeout(context.Background(), finishTimeout)
	defer cancel()
	err = webhookServer.Shutdown(finish)
	return errors.Join(err, probeServer.Shutdown(finish))
}

func newServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      requestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}
}

func webhooks() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mutate", admission(mutate))
	mux.HandleFunc("POST /validate", admission(validate))
	mux.HandleFunc("POST /convert", convert)
	return mux
}

// closingWhile ends connections with their next answer: a client that calls again is sent to another pod.
func closingWhile(draining *atomic.Bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if draining.Load() {
			response.Header().Set("Connection", "close")
		}
		next.ServeHTTP(response, request)
	})
}

func probes(certificate *certificate, draining *atomic.Bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(response http.ResponseWriter, _ *http.Request) {
		_, _ = response.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", func(response http.ResponseWriter, _ *http.Request) {
		if draining.Load() {
			http.Error(response, "stopping", http.StatusServiceUnavailable)
			return
		}
		if _, err := certificate.current(); err != nil {
			http.Error(response, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = response.Write([]byte("ok\n"))
	})
	return mux
}
