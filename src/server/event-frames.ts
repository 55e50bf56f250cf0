/** One event of a stream: its text as it came, and the message in it; comments have none. */
export interface Frame {
  text: string;
  message: object | undefined;
}

/** The events of a stream that the SDK writes, each once it has come whole. */
export async function* eventFrames(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Frame> {
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const seen = Math.max(0, rest.length - 1); // Of an event that comes in many pieces, only what is new is looked at.
    rest += decoder.decode(value, { stream: true });
    for (let end = rest.indexOf('\n\n', seen); end >= 0; end = rest.indexOf('\n\n')) {
      const text = rest.slice(0, end + 2);
      rest = rest.slice(end + 2);
      yield { text, message: messageIn(text) };
    }
  }
}

/** The data of the first event in `text`. A line ends at a newline only: JSON may hold other characters that look like one. */
export function dataIn(text: string): string | undefined {
  return /^data: ([^\n]+)$/m.exec(text)?.[1];
}

function messageIn(text: string): object | undefined {
  const data = dataIn(text);
  return data === undefined ? undefined : (JSON.parse(data) as object);
}
