/** Follows the events of a run over server-sent events; the browser resumes from the last one by itself. */
import { eventsUrl } from './client';
import type { EventRecord, RunEvent } from './types';

const KINDS: Record<RunEvent['kind'], true> = {
  queued: true,
  compiling: true,
  compiled: true,
  diagnosed: true,
  launched: true,
  printed: true,
  found: true,
  counted: true,
  timed: true,
  'buffer-read': true,
  filmed: true,
  checked: true,
  swept: true,
  concluded: true,
  estimated: true,
  traced: true,
  baselined: true,
  finished: true,
};

export interface Follower {
  onRecord(record: EventRecord): void;
  /** The connection broke and is being tried again (true), or is back (false). */
  onInterrupted(interrupted: boolean): void;
  /** The stream is closed for good although no `finished` came. */
  onLost(): void;
}

/** Returns what ends the following. */
export function follow(run: string, follower: Follower): () => void {
  const source = new EventSource(eventsUrl(run));
  for (const kind of Object.keys(KINDS)) {
    source.addEventListener(kind, (message: MessageEvent<string>) => {
      const record = JSON.parse(message.data) as EventRecord;
      if (record.event.kind === 'finished') source.close();
      follower.onRecord(record);
    });
  }
  source.onopen = () => follower.onInterrupted(false);
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) follower.onLost();
    else follower.onInterrupted(true);
  };
  return () => source.close();
}
