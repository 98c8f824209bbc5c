/** Compiles the source while it is typed, so that the form and the diagnostics follow it. */
import { api, ApiError, passing } from '../api/client';
import type { Diagnostic, Fix, InspectReport, InspectRequest } from '../api/types';
import { launches } from '../document/draft';
import { hasTemplate } from '../document/entries';
import { workspace } from './workspace.svelte';

const PAUSE_MS = 400;
const RETRY_S = 3;

class Inspection {
  report = $state.raw<InspectReport | null>(null);
  /** The source that `report` speaks of. */
  source = $state.raw('');
  busy = $state(false);
  failure = $state('');
  /** What the linter, which comes later, has for lines of a source. */
  lint = $state.raw<{ source: string; marks: readonly Diagnostic[]; fix: (fix: Fix) => void } | null>(null);
  private abort: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asking: Promise<void> | null = null;
  private asked = '';
  /** Loaded with the first source that is compiled for its arguments. */
  private types = $state.raw<typeof import('../document/specialise')>();

  /** What the compiler is asked; the launch is not part of it, so typing a block size compiles nothing. */
  question = $derived.by<InspectRequest>(() => {
    const { request } = workspace.built;
    const { source, options, architecture } = request;
    const names = [...launches(workspace.draft.steps)].map(([, launch]) => launch.entry.trim());
    const compile = { schema_version: 1, source, options, architecture };
    if (source.language === 'numba') {
      if (!this.types) void import('../document/specialise').then((types) => (this.types = types));
      return { compile: { ...compile, specialisations: this.types?.specialisations(request) ?? [] } };
    }
    const instantiations = [...new Set(names.filter((name) => name.includes('<') && hasTemplate(source.text, name)))];
    return { compile: { ...compile, instantiations } };
  });

  diagnostics = $derived<readonly Diagnostic[]>(this.report?.diagnostics ?? []);

  /** Asks after a pause; a newer question ends the older. Call it whenever `question` changes. */
  schedule(): void {
    const text = JSON.stringify(this.question);
    if (!workspace.ready) return;
    if (text === this.asked) {
      // A document that was opened anew with the same source: what is known of it holds.
      const { verdict, entries = [] } = this.report ?? {};
      if (!this.busy && verdict === 'ok' && entries.length && !workspace.entries.length) workspace.adopt(entries, this.source);
      return;
    }
    this.asked = text;
    clearTimeout(this.timer);
    this.abort?.abort();
    this.asking = null;
    this.busy = true;
    const pause = this.report || this.failure ? PAUSE_MS : 0;
    this.timer = setTimeout(() => this.begin(), pause);
  }

  /** Resolves once the form fits the source as it is now, so that a run never has the arguments of an older one. */
  async caughtUp(): Promise<void> {
    this.schedule();
    while (this.busy) {
      if (!this.asking) this.begin();
      await this.asking;
    }
  }

  /** What the last answer said is not of this source. */
  forget(): void {
    this.source = '';
  }

  private begin(): void {
    clearTimeout(this.timer);
    const asking = this.ask(this.question).finally(() => {
      if (this.asking === asking) this.asking = null;
    });
    this.asking = asking;
  }

  private retryAfter(seconds: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.asked = '';
      this.schedule();
    }, seconds * 1000);
  }

  private async ask(question: InspectRequest): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    try {
      if (!question.compile.source.text.trim()) {
        this.settle(null, question);
        return;
      }
      const report = await api.compile(question, abort.signal);
      if (abort.signal.aborted) return;
      this.settle(report, question);
      if (report.verdict === 'ok') workspace.adopt(report.entries ?? [], question.compile.source.text);
      else if (report.diagnostics?.some(({ field }) => field?.startsWith('specialisations'))) await this.askNames(question, abort.signal);
    } catch (error) {
      if (abort.signal.aborted) return;
      this.busy = false;
      this.failure = error instanceof ApiError ? (error.fields[0]?.message ?? error.message) : String(error);
      if (passing(error)) this.retryAfter(error.retryAfter ?? RETRY_S);
      if (error instanceof ApiError && error.status === 422) {
        workspace.report(error.fields.map(({ field, message }) => ({ field: field.replace(/^compile\./, ''), message })));
      }
    }
  }

  /** The launch names parameters that the kernel has no more: without a launch the compiler says which it has. */
  private async askNames({ compile }: InspectRequest, signal: AbortSignal): Promise<void> {
    const report = await api.compile({ compile: { ...compile, specialisations: [] } }, signal);
    if (!signal.aborted && report.verdict === 'ok') workspace.adopt(report.entries ?? [], compile.source.text);
  }

  private settle(report: InspectReport | null, question: InspectRequest): void {
    this.busy = false;
    this.failure = report && !/^(ok|compile-error)$/.test(report.verdict) ? report.message || report.verdict : '';
    this.report = report;
    this.source = question.compile.source.text;
  }
}

export const inspection = new Inspection();
