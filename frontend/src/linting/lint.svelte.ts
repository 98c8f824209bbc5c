/** What looks wrong with the launches, asked while the form and the source are edited, and the fixes that were made. */
import { EditorView } from '@codemirror/view';
import { api, ApiError, passing } from '../api/client';
import type { Diagnostic, Fix, InspectRequest } from '../api/types';
import type { Draft } from '../document/draft';
import { facts } from '../state/launch.svelte';
import { inspection } from '../state/inspection.svelte';
import { workspace } from '../state/workspace.svelte';
import { offsets, setField } from './fix';

const PAUSE_MS = 150;
const RETRY_S = 3;

interface Made {
  title: string;
  key: string;
  source: string;
  steps: Draft['steps'];
  buffers: Draft['buffers'];
}

class Lint {
  findings = $state.raw<readonly Diagnostic[]>([]);
  /** The source that `findings` speak of. */
  source = $state.raw('');
  failure = $state('');
  /** The last fix, with what it changed. */
  made = $state.raw<Made | null>(null);
  private abort: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asked = '';

  /** Null while the form does not make a request: its own faults are told at their fields. */
  question = $derived.by<InspectRequest | null>(() => {
    const { request, problems } = workspace.built;
    if (problems.length || !request.source.text.trim()) return null;
    return { ...inspection.question, lint: { buffers: request.buffers ?? [], steps: request.steps } };
  });

  /** A fault that the form tells by itself is left out, unless there is a fix for it. */
  shown = $derived(
    this.findings.filter(({ severity, field, fix }) => severity !== 'error' || fix || !(field && (workspace.fault(field) ?? this.told(field)))),
  );

  /** Asks after a pause; a newer question ends the older. Call it whenever `question` or the compiler's answer changes. */
  schedule(): void {
    const { question } = this;
    // The compiler's answer is cached then, and the linter starts from it.
    if (inspection.busy) return;
    const text = JSON.stringify(question);
    if (text === this.asked) return;
    this.leave();
    this.asked = text;
    if (!question) this.settle([], '');
    else this.timer = setTimeout(() => void this.ask(question), PAUSE_MS);
  }

  /** Nobody looks any more. */
  leave(): void {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.asked = '';
  }

  /** Makes a fix; what it changes can be undone. */
  apply(fix: Fix): void {
    const { draft, origin } = workspace;
    const { steps, buffers } = $state.snapshot({ steps: draft.steps, buffers: draft.buffers }) as Pick<Draft, 'steps' | 'buffers'>;
    const made = { title: fix.title, key: origin.key, source: draft.source, steps, buffers };
    if (fix.span) {
      const range = draft.source === this.source ? offsets(draft.source, fix.span) : null;
      if (!range) return;
      this.write({ ...range, insert: fix.text ?? '' });
    } else {
      const index = workspace.built.bufferIndex;
      if (!setField(draft, fix, (place) => draft.buffers.find(({ key }) => index.get(key) === place))) return;
    }
    this.made = made;
  }

  undo(): void {
    const { made } = this;
    if (!made) return;
    const { draft } = workspace;
    if (draft.source === made.source) Object.assign(draft, { steps: made.steps, buffers: made.buffers });
    else this.write({ from: 0, to: draft.source.length, insert: made.source });
    this.made = null;
  }

  /** Through the editor, so that its own undo has it too. */
  private write(changes: { from: number; to: number; insert: string }): void {
    const host = document.querySelector<HTMLElement>('.cm-editor');
    const view = host && EditorView.findFromDOM(host);
    if (view && view.state.doc.toString() === workspace.draft.source) view.dispatch({ changes, userEvent: 'input.fix' });
    else workspace.draft.source = workspace.draft.source.slice(0, changes.from) + changes.insert + workspace.draft.source.slice(changes.to);
  }

  /** Whether the form says of a launch's field what its GPU cannot do. */
  private told(field: string): string | null {
    const [, name] = /^(?:.+)\.config\.(block|grid|dynamic_shared_bytes)$/.exec(field) ?? [];
    return name && field.startsWith(`${workspace.launchPath}.config`) ? facts.fault(name as 'block') : null;
  }

  private async ask(question: InspectRequest): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    try {
      const report = await api.compile(question, abort.signal);
      if (abort.signal.aborted) return;
      this.failure = '';
      this.settle(report.lint ?? [], question.compile.source.text);
    } catch (error) {
      if (abort.signal.aborted) return;
      this.settle([], '');
      if (passing(error)) {
        this.timer = setTimeout(() => {
          this.asked = '';
          this.schedule();
        }, (error.retryAfter ?? RETRY_S) * 1000);
      } else if (error instanceof ApiError && error.status !== 422) this.failure = error.message;
    }
  }

  private settle(findings: readonly Diagnostic[], source: string): void {
    this.findings = findings;
    this.source = source;
    const marks = findings.filter(({ span, severity }) => span && severity !== 'note');
    inspection.lint = marks.length ? { source, marks, fix: (fix) => this.apply(fix) } : null;
  }
}

export const lint = new Lint();
