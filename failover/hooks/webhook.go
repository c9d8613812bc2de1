package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// webhookTimeout is the limit of a webhook that names none.
const webhookTimeout = 5 * time.Second

// Webhook posts the JSON a hook reads on its standard input.
type Webhook struct {
	URL string
	// Timeout is the limit of the whole exchange; 0 is 5 s.
	Timeout time.Duration
	// Events are those posted; none named means all.
	Events []Event
	// Header is added to the request, for tokens.
	Header http.Header
}

// Validate reports a URL that cannot be posted to.
func (w Webhook) Validate() error {
	u, err := url.Parse(w.URL)
	if err != nil {
		return errors.New("webhook: not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("webhook %s: give http:// or https:// and a host", u.Redacted())
	}
	return nil
}

func (w Webhook) wants(e Event) bool {
	for _, wanted := range w.Events {
		if wanted == e {
			return true
		}
	}
	return len(w.Events) == 0
}

// Post sends the call. A status below 300 is success; redirects are not
// followed. The error names the host only: a URL may hold a token.
func (w Webhook) Post(ctx context.Context, call Call) error {
	body, err := call.JSON()
	if err != nil {
		return fmt.Errorf("webhook: write the record as JSON: %w", err)
	}
	limit := w.Timeout
	if limit <= 0 {
		limit = webhookTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("webhook: not a URL")
	}
	for name, values := range w.Header {
		request.Header[name] = values
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "failwise")
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	client := http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w of %v", ErrTimeout, limit)
		}
		return fmt.Errorf("webhook %s: %w", request.URL.Host, err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("webhook %s: answered %s", request.URL.Host, response.Status)
	}
	return nil
}
