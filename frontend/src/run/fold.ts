/** The result of a run as a fold of its events: protocol/result.py in TypeScript, fed one record at a time. */
import type { EventRecord, RunResult } from '../api/types';

export const MAX_PRINTED_CHARACTERS = 1 << 20;

type Lists = Pick<RunResult, 'launches' | 'diagnostics' | 'findings' | 'counters' | 'timings' | 'buffers' | 'checks' | 'sweep' | 'estimates' | 'traces' | 'baselines' | 'film'>;
type Scalars = Pick<RunResult, 'state' | 'device' | 'verdict' | 'message' | 'compiled' | 'conclusion'>;
type Filled<T> = { [K in keyof T]-?: NonNullable<T[K]> };

const noLists = (): Filled<Lists> => ({
  launches: [],
  diagnostics: [],
  findings: [],
  counters: [],
  timings: [],
  buffers: [],
  checks: [],
  sweep: [],
  estimates: [],
  traces: [],
  baselines: [],
  film: [],
});

/** Text up to a number of code points, counted as Python does. */
class Printed {
  chunks: string[] = [];
  truncated = false;
  private left = MAX_PRINTED_CHARACTERS;

  add(text: string): void {
    if (this.truncated || !text) return;
    let points = 0;
    let end = 0;
    while (end < text.length && points < this.left) {
      end += text.codePointAt(end)! > 0xffff ? 2 : 1;
      points++;
    }
    this.left -= points;
    this.truncated = end < text.length;
    if (end > 0) this.chunks.push(this.truncated ? text.slice(0, end) : text);
  }
}

export class Fold {
  private attempt = -1;
  private scalars: Scalars = { state: 'queued', device: '', verdict: null, message: '', compiled: null, conclusion: null };
  private lists = noLists();
  private printed = new Printed();

  push(record: EventRecord): void {
    const number = Number.parseInt(record.id, 10);
    if (number < this.attempt) return;
    if (number > this.attempt) {
      this.attempt = number;
      this.scalars = { state: 'queued', device: this.scalars.device, verdict: null, message: '', compiled: null, conclusion: null };
      this.lists = noLists();
      this.printed = new Printed();
    }
    const event = record.event;
    switch (event.kind) {
      case 'queued':
        this.scalars.device = event.device;
        break;
      case 'compiling':
        break;
      case 'compiled':
        this.scalars.compiled = event;
        break;
      case 'launched':
        this.lists.launches.push(event);
        break;
      case 'diagnosed':
        this.lists.diagnostics.push(event.diagnostic);
        break;
      case 'found':
        this.lists.findings.push(event);
        break;
      case 'printed':
        this.printed.add(event.text);
        break;
      case 'counted':
        this.lists.counters.push(event);
        break;
      case 'timed':
        this.lists.timings.push(event);
        break;
      case 'buffer-read':
        this.lists.buffers.push(event);
        break;
      case 'checked':
        this.lists.checks.push(event);
        break;
      case 'swept':
        this.lists.sweep = [...this.lists.sweep.filter(({ index }) => index !== event.index), event].sort((a, b) => a.index - b.index);
        break;
      case 'concluded':
        this.scalars.conclusion = event;
        break;
      case 'estimated':
        this.lists.estimates.push(event);
        break;
      case 'traced':
        this.lists.traces.push(event);
        break;
      case 'baselined':
        this.lists.baselines.push(event);
        break;
      case 'filmed':
        this.lists.film.push(event);
        break;
      case 'finished':
        this.scalars.verdict = event.verdict;
        this.scalars.message = event.message ?? '';
        this.scalars.state = 'finished';
        break;
    }
    if (this.scalars.state !== 'finished') this.scalars.state = event.kind === 'queued' ? 'queued' : 'running';
  }

  /** What the records so far amount to; later records do not change it. */
  result(): RunResult {
    const lists = Object.fromEntries(Object.entries(this.lists).map(([key, list]) => [key, [...list]])) as Filled<Lists>;
    return {
      schema_version: 1,
      attempt: Math.max(this.attempt, 0),
      ...this.scalars,
      ...lists,
      printed: this.printed.chunks.join(''),
      printed_truncated: this.printed.truncated,
    };
  }
}

export function fold(records: Iterable<EventRecord>): RunResult {
  const state = new Fold();
  for (const record of records) state.push(record);
  return state.result();
}
