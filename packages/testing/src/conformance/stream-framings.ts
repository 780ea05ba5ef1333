/** A way to send the same server-sent events in other bytes. */
export interface Framing {
  readonly name: string;
  frame(text: string): string;
}

const unknownEvent = 'event: future_event\ndata: {"type":"future_event","future":{"text":"not for us"}}\n\n';

/** Every way in which the format of server-sent events lets a server say the same. Each takes and gives the text of a whole stream. */
export const framings: readonly Framing[] = [
  { name: 'as recorded', frame: (text) => text },
  { name: 'with CRLF', frame: (text) => text.replaceAll('\n', '\r\n') },
  { name: 'with CR', frame: (text) => text.replaceAll('\n', '\r') },
  { name: 'with a byte order mark', frame: (text) => `\ufeff${text}` },
  { name: 'without spaces behind colons', frame: (text) => text.replaceAll(/^(data|event): /gm, '$1:') },
  {
    name: 'with comments between and within events',
    frame: (text) => `: connected\n\n${text.replaceAll(/^data:/gm, ': 東京\ndata:').replaceAll('\n\n', '\n\n: keep-alive\n\n')}`,
  },
  { name: 'with empty events', frame: (text) => text.replaceAll('\n\n', '\n\n\n\ndata:\n\n') },
  { name: 'with ids and times to retry', frame: (text) => text.replaceAll(/^data:/gm, 'id: 7\nretry: 10\ndata:') },
  { name: 'with data on several lines', frame: (text) => text.replaceAll(/^data: \{/gm, 'data: {\ndata: ') },
  { name: 'with events that nobody knows yet', frame: (text) => `${unknownEvent}${text.replaceAll('\n\n', `\n\n${unknownEvent}`)}` },
  { name: 'without its last blank line', frame: (text) => text.replace(/\n+$/, '') },
];
