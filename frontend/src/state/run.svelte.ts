/** The run that is shown: sent, followed, folded, and found again after a reload. */
import { api, ApiError, passing } from '../api/client';
import { follow } from '../api/follow';
import type { EventRecord, FieldProblem, RunRequest, RunResult, Sweep } from '../api/types';
import { Fold, fold } from '../run/fold';
import { type Mark, markOf } from '../run/phases';
import { inspection } from './inspection.svelte';
import { ui } from './ui.svelte';
import { workspace } from './workspace.svelte';

/** Pause between two redraws while events pour in. */
const REDRAW_MS = 60;
/** Pause before a stream that was refused is asked for again. */
const AGAIN_MS = 2000;
const SESSION_KEY = 'warpyard.run';
/** The run of this tab that was sent from it. */
const OWN_KEY = 'warpyard.sent';

class RunSession {
  id = $state<string | null>(null);
  request = $state.raw<RunRequest | null>(null);
  result = $state.raw<RunResult | null>(null);
  marks = $state.raw<readonly Mark[]>([]);
  position = $state(0);
  sending = $state(false);
  /** Ends the wait for the compiler that precedes the sending; null while there is none. */
  abandon = $state.raw<(() => void) | null>(null);
  cancelling = $state(false);
  interrupted = $state(false);
  /** Why nothing runs: offline, too many requests, no worker. */
  failure = $state('');
  /** The last run of several block shapes, which stays when another run follows. */
  swept = $state.raw<{ id: string; request: RunRequest; result: RunResult } | null>(null);
  /** The run that came with a link. */
  carried = $state.raw<{ run: string; at: string } | null>(null);
  /** Changes whenever the history has something new. */
  recorded = $state(0);
  private fold = new Fold();
  private stop: (() => void) | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  busy = $derived(this.sending || (this.id !== null && this.result?.state !== 'finished' && !this.failure));

  /** Sends the document; with a sweep, the selected launch runs with each of its cells. `more`: an estimate, a trace. */
  async start(sweep: Sweep | null = null, more: Pick<RunRequest, 'estimate' | 'trace' | 'baselines'> = {}): Promise<void> {
    if (this.busy) return;
    const stays = more.trace ? 'grid' : more.baselines ? 'reference' : more.estimate && !sweep ? 'timing' : ui.tab === 'reference' ? 'reference' : 'output';
    ui.show(sweep ? 'sizes' : stays);
    this.failure = '';
    this.sending = true;
    try {
      if (!(await this.caughtUp())) return;
      const { problems } = workspace.built;
      const request: RunRequest = { ...workspace.built.request, ...(sweep && { sweep }), ...more };
      if (problems.length) {
        this.refuse(problems);
        return;
      }
      const accepted = await api.run(request);
      workspace.report([]);
      this.attach(accepted.id, request, accepted.position);
      this.record();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.failure = error.message;
      if (error.status === 422 && error.fields.length) {
        workspace.report(error.fields);
        this.refuse(error.fields);
      }
    } finally {
      this.sending = false;
    }
  }

  /** Waits until the form fits the source; false where the user would not wait. */
  private async caughtUp(): Promise<boolean> {
    const abandoned = new Promise<boolean>((done) => (this.abandon = () => done(false)));
    try {
      return await Promise.race([inspection.caughtUp().then(() => true), abandoned]);
    } finally {
      this.abandon = null;
    }
  }

  async cancel(): Promise<void> {
    if (this.sending) return this.abandon?.();
    if (!this.id || !this.busy || this.cancelling) return;
    this.cancelling = true;
    try {
      await api.cancel(this.id);
    } catch (error) {
      this.cancelling = false;
      ui.say(error instanceof Error ? error.message : String(error), true);
    }
  }

  /** Shows a run again; false where the service does not know it any more. */
  async reopen(id: string): Promise<RunRequest | null> {
    try {
      const stored = await api.storedRun(id);
      this.attach(id, stored.request, 0);
      return stored.request;
    } catch (error) {
      if (passing(error)) {
        ui.say(error.message, true);
        await new Promise((done) => setTimeout(done, AGAIN_MS));
        return this.reopen(id);
      }
      this.forget();
      if (!(error instanceof ApiError && error.status === 404)) ui.say(String((error as Error).message), true);
      return null;
    }
  }

  /** Leaves the run: another document is opened. */
  forget(): void {
    this.stop?.();
    clearTimeout(this.timer);
    Object.assign(this, { id: null, request: null, result: null, marks: [], swept: null, carried: null, failure: '', interrupted: false, cancelling: false });
    sessionStorage.removeItem(SESSION_KEY);
    setHash(null);
  }

  /** The address leads to the run with the document that it ran, whatever was open before. */
  standAlone(id: string): void {
    sessionStorage.removeItem(SESSION_KEY);
    history.pushState(null, '', `/#run=${encodeURIComponent(id)}`);
  }

  /** The run of this browser tab and of the address. */
  static remembered(): { id: string | null; own: boolean } {
    const id = new URLSearchParams(location.hash.slice(1)).get('run');
    return { id, own: id !== null && sessionStorage.getItem(SESSION_KEY) === id };
  }

  private refuse(problems: readonly FieldProblem[]): void {
    const first = problems[0]!;
    this.failure = '';
    ui.pane = first.field.startsWith('source') ? 'code' : 'launch';
    if (/^(checks|sweep)\b/.test(first.field)) ui.show(first.field.startsWith('checks') ? 'reference' : 'sizes');
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
    ui.say(`Not sent: ${first.message}${more}`, true);
    requestAnimationFrame(() => document.querySelector<HTMLElement>('.launch [aria-invalid=true]')?.focus());
  }

  private attach(id: string, request: RunRequest, position: number): void {
    this.stop?.();
    this.id = id;
    this.request = request;
    this.position = position;
    this.result = fold([]);
    this.cancelling = false;
    this.interrupted = false;
    sessionStorage.setItem(SESSION_KEY, id);
    setHash(id);
    if (request.sweep) this.swept = { id, request, result: this.result };
    this.listen(id);
  }

  /** Follows the run from its first event. */
  private listen(id: string): void {
    this.fold = new Fold();
    this.marks = [];
    this.stop = follow(id, {
      onRecord: (record) => this.take(record),
      onInterrupted: (interrupted) => (this.interrupted = interrupted),
      onLost: () => void this.recover(id),
    });
  }

  private take(record: EventRecord): void {
    this.fold.push(record);
    const mark = markOf(record);
    if (mark) this.marks = mark.restarts ? [mark] : [...this.marks, mark];
    if (record.event.kind === 'queued') this.position = record.event.position ?? 0;
    if (record.event.kind === 'finished') this.redraw();
    else this.timer ??= setTimeout(() => this.redraw(), REDRAW_MS);
  }

  private redraw(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.show(this.fold.result());
    if (this.result?.state !== 'finished') return;
    this.cancelling = false;
    const errors = (this.result.diagnostics ?? []).filter(({ severity }) => severity === 'error');
    const told = errors.flatMap(({ field, message }) => (field ? [{ field, message }] : []));
    if (told.length && this.request) workspace.report(told, this.request);
  }

  private show(result: RunResult): void {
    this.result = result;
    if (this.swept && this.swept.id === this.id) this.swept = { ...this.swept, result };
    // A run of somebody else's, opened by its address, is no run of this browser's.
    if (result.state === 'finished' && sessionStorage.getItem(OWN_KEY) === this.id) this.record();
  }

  /** Keeps the run in the browser's history. */
  private record(): void {
    const { id, request, result } = this;
    if (!id || !request) return;
    sessionStorage.setItem(OWN_KEY, id);
    const title = workspace.draft.title.trim();
    void this.remember(id, title, request, result, Date.now());
  }

  private async remember(id: string, title: string, request: RunRequest, result: RunResult | null, at: number): Promise<void> {
    try {
      const { pastOf, remember } = await import('../history/history');
      remember(pastOf(id, title, request, result, at));
      this.recorded++;
    } catch {
      // The connection went away before this part of the page had come: the run is told once it ends.
    }
  }

  /** The event stream closed for good: the stored result may still tell the end. */
  private async recover(id: string): Promise<void> {
    try {
      const stored = await api.storedRun(id);
      if (this.id !== id) return;
      if (stored.result.state === 'finished') this.show(stored.result);
      else this.listenAgain(id);
    } catch (error) {
      if (this.id !== id) return;
      if (passing(error)) this.listenAgain(id);
      else this.failure = error instanceof Error ? error.message : String(error);
    }
  }

  /** The service refuses for a while: its broker or database is away, or it starts again. */
  private listenAgain(id: string): void {
    this.interrupted = true;
    setTimeout(() => this.id === id && this.listen(id), AGAIN_MS);
  }
}

function setHash(run: string | null): void {
  const parameters = new URLSearchParams(location.hash.slice(1));
  if (run) parameters.set('run', run);
  else parameters.delete('run');
  const hash = parameters.toString();
  history.replaceState(null, '', `${location.pathname}${location.search}${hash ? `#${hash}` : ''}`);
}

export const remembered = RunSession.remembered;
export const run = new RunSession();
