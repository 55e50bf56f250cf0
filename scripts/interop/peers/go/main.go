// The official SDK for Go, which has no tasks: `peer REVISION TARGET`. It does what it is told on stdin and tells on stdout, a
// JSON text a line: ../program.ts has what is said.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type object = map[string]any

type told struct {
	Id      int             `json:"id"`
	Do      string          `json:"do"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Answer  int             `json:"answer"`
	Content object          `json:"content"`
}

type target struct {
	Url     string   `json:"url"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Cwd     string   `json:"cwd"`
}

// questions are those that nobody has answered yet.
type questions struct {
	sync.Mutex
	last int
	open map[int]chan object
}

var (
	saying sync.Mutex
	asked  = questions{open: map[int]chan object{}}
)

func main() {
	if err := serve(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, revision, where string) error {
	var server target
	if err := json.Unmarshal([]byte(where), &server); err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "longcall-interop", Version: "1.0.0"}, &mcp.ClientOptions{
		Capabilities:       &mcp.ClientCapabilities{},
		ElicitationHandler: elicit,
		ProgressNotificationHandler: func(_ context.Context, seen *mcp.ProgressNotificationClientRequest) {
			say(object{"progress": fmt.Sprintf("%g/%g", seen.Params.Progress, seen.Params.Total)})
		},
	})
	session, err := client.Connect(ctx, transportTo(server), &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return err
	}
	defer session.Close()
	if agreed := session.InitializeResult().ProtocolVersion; agreed != revision {
		return fmt.Errorf("agreed on %s", agreed)
	}
	say(object{"id": 0})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var what told
		if err := json.Unmarshal(lines.Bytes(), &what); err != nil {
			return err
		}
		if what.Answer != 0 {
			asked.answer(what.Answer, what.Content)
		} else {
			go do(ctx, session, what)
		}
	}
	return lines.Err()
}

func transportTo(server target) mcp.Transport {
	if server.Url != "" {
		return &mcp.StreamableClientTransport{Endpoint: server.Url}
	}
	command := exec.Command(server.Command, server.Args...)
	command.Dir = server.Cwd
	return &mcp.CommandTransport{Command: command}
}

func do(ctx context.Context, session *mcp.ClientSession, what told) {
	params := &mcp.CallToolParams{Name: what.Tool, Arguments: what.Args}
	params.Meta = mcp.Meta{"progressToken": what.Id}
	result, err := session.CallTool(ctx, params)
	var refused *jsonrpc.Error
	switch {
	case err == nil:
		say(object{"id": what.Id, "value": object{"status": "result", "result": result}})
	case errors.As(err, &refused):
		value := object{"status": "error", "code": refused.Code, "message": refused.Message}
		say(object{"id": what.Id, "value": value})
	default:
		say(object{"id": what.Id, "broke": err.Error()})
	}
}

func elicit(_ context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	content := asked.ask(request.Params.Message)
	if content == nil {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

func (q *questions) ask(message string) object {
	q.Lock()
	q.last++
	number, answered := q.last, make(chan object, 1)
	q.open[number] = answered
	q.Unlock()
	say(object{"question": number, "message": message})
	return <-answered
}

func (q *questions) answer(number int, content object) {
	q.Lock()
	defer q.Unlock()
	q.open[number] <- content
	delete(q.open, number)
}

func say(what object) {
	saying.Lock()
	defer saying.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(what); err != nil {
		panic(err)
	}
}
