"""What a worker of a peer says to the benchmark: it prints "ready", answers each line "BYTES COUNT" with one line of JSON, and ends with its
input. Every rank gets the same lines. COUNT is how often to reduce."""
import json, sys, time


def serve(measure):
    """measure(bytes, count) reduces count times and returns the seconds of each time."""
    print("ready", flush=True)
    for line in sys.stdin:
        size, count = (int(word) for word in line.split())
        cpu = time.process_time()
        seconds = measure(size, count)
        print(json.dumps(dict(micros=[1e6 * s for s in seconds], cpu=1e6 * (time.process_time() - cpu) / count)), flush=True)
