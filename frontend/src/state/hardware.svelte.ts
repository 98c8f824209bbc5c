/** The selected kernel and launch on every GPU of the table, asked while the view of GPUs is open. */
import { api, ApiError, passing } from '../api/client';
import type { GpuFit, InspectRequest } from '../api/types';
import { facts } from './launch.svelte';
import { inspection } from './inspection.svelte';
import { workspace } from './workspace.svelte';

const PAUSE_MS = 300;
const RETRY_S = 3;

class Hardware {
  fits = $state.raw<readonly GpuFit[]>([]);
  busy = $state(false);
  failure = $state('');
  private abort: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asked = '';

  /** Null while the source or the launch cannot be asked about. */
  question = $derived.by<InspectRequest | null>(() => {
    const launch = { grid: [...workspace.grid], block: [...workspace.block], dynamic_shared_bytes: facts.shared };
    if (!inspection.question.compile.source.text.trim() || [...launch.grid, ...launch.block].some((extent) => extent < 1)) return null;
    return { ...inspection.question, launch, every_gpu: true };
  });

  /** Asks after a pause; a newer question ends the older. Call it whenever `question` changes. */
  schedule(): void {
    const { question } = this;
    const text = JSON.stringify(question);
    if (text === this.asked || !question) return;
    this.asked = text;
    this.leave();
    this.busy = true;
    this.timer = setTimeout(() => void this.ask(question), this.fits.length ? PAUSE_MS : 0);
  }

  /** Nobody looks any more. */
  leave(): void {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.busy = false;
  }

  /** The next question is asked even if it is the last one again. */
  forget(): void {
    this.leave();
    this.asked = '';
  }

  private async ask(question: InspectRequest): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    try {
      const report = await api.compile(question, abort.signal);
      if (abort.signal.aborted) return;
      this.failure = report.verdict === 'ok' || report.verdict === 'compile-error' ? '' : report.message || report.verdict;
      this.fits = report.gpus ?? [];
    } catch (error) {
      if (abort.signal.aborted) return;
      this.failure = error instanceof ApiError ? (error.fields[0]?.message ?? error.message) : String(error);
      if (passing(error)) {
        this.timer = setTimeout(() => {
          this.asked = '';
          this.schedule();
        }, (error.retryAfter ?? RETRY_S) * 1000);
      }
    }
    this.busy = false;
  }
}

export const hardware = new Hardware();
