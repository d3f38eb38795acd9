// Goroutines, channels, JSON, files, hashes, a local server and a child process.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync"
	"time"
)

type shape struct {
	Name  string  `json:"name"`
	Sides int     `json:"sides"`
	Area  float64 `json:"area,omitempty"`
}

func sum[T int | float64](values []T) (total T) {
	for _, value := range values {
		total += value
	}
	return total
}

func must(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func workers() {
	jobs, results := make(chan int), make(chan int, 100)
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for job := range jobs {
				results <- job * job
			}
		}()
	}
	for i := 1; i <= 100; i++ {
		jobs <- i
	}
	close(jobs)
	group.Wait()
	close(results)
	var all []int
	for result := range results {
		all = append(all, result)
	}
	fmt.Println("goroutines", len(all), sum(all))
}

func files() {
	must(os.MkdirAll("out", 0o755))
	text, err := json.Marshal([]shape{{"square", 4, 2.25}, {"line", 2, 0}})
	must(err)
	must(os.WriteFile("out/shapes.json", text, 0o644))
	back, err := os.ReadFile(filepath.Join("out", "shapes.json"))
	must(err)
	var shapes []shape
	must(json.Unmarshal(back, &shapes))
	sort.Slice(shapes, func(i, j int) bool { return shapes[i].Name < shapes[j].Name })
	fmt.Printf("json %+v\n", shapes)
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err = writer.Write(back)
	must(err)
	must(writer.Close())
	reader, err := gzip.NewReader(&packed)
	must(err)
	plain, err := io.ReadAll(reader)
	must(err)
	fmt.Printf("sha256 %x\n", sha256.Sum256(plain))
}

func loopback() {
	listener, err := net.Listen("unix", "/tmp/socket")
	must(err)
	defer listener.Close()
	go func() {
		peer, err := listener.Accept()
		must(err)
		fmt.Fprintln(peer, "hello over a socket")
		peer.Close()
	}()
	peer, err := net.Dial("unix", "/tmp/socket")
	must(err)
	line, err := bufio.NewReader(peer).ReadString('\n')
	must(err)
	fmt.Print("net ", line)
}

func main() {
	workers()
	files()
	loopback()
	output, err := exec.Command("/bin/sh", "-c", "echo from sh").Output()
	must(err)
	fmt.Print("exec ", string(output))
	fmt.Println("regexp", regexp.MustCompile(`\d+`).FindAllString("a1b22c333", -1))
	zone, err := time.LoadLocation("Europe/Berlin")
	must(err)
	fmt.Println("time", time.Unix(0, 0).In(zone).Format(time.RFC3339))
	fmt.Println(strings.Repeat("=", 10))
}
