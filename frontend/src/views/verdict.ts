/** A run's verdict in words. */
import type { RunResult } from '../api/types';

export interface Banner {
  tone: 'ok' | 'bad' | 'neutral';
  title: string;
  detail: string;
}

const LIMITS: Record<string, string> = {
  wall: 'The run took too long',
  cpu: 'The run used too much processor time',
  memory: 'The run needed too much memory',
  output: 'The kernel printed too much',
  log: 'The kernel reported too much',
  result: 'The results are too large',
  pids: 'The run started too many processes',
  files: 'The run wrote too many files',
};

export function limitTitle(limit: string): string {
  return LIMITS[limit] ?? `The run reached the limit “${limit.replaceAll('-', ' ')}”`;
}

export function banner(result: RunResult): Banner | null {
  const { verdict } = result;
  if (!verdict) return null;
  const detail = result.message ?? '';
  const findings = result.findings?.filter(({ advice }) => !advice).length ?? 0;
  const hints = (result.findings?.length ?? 0) - findings;
  const failed = result.checks?.filter(({ passed, compared }) => !passed && compared !== false).length ?? 0;
  const uncompared = result.checks?.filter(({ compared }) => compared === false).length ?? 0;
  if (verdict === 'ok' && findings + failed + uncompared === 0) {
    const checks = result.checks?.length ?? 0;
    return { tone: 'ok', title: 'Finished', detail: detail || [checks ? 'Every check passed.' : '', hints ? `${hints} ${hints === 1 ? 'hint' : 'hints'} on how it runs.` : ''].filter(Boolean).join(' ') };
  }
  if (verdict === 'ok') {
    const defects = findings ? `${findings} ${findings === 1 ? 'defect' : 'defects'} found` : '';
    const checks = failed ? `${failed} ${failed === 1 ? 'check' : 'checks'} failed` : '';
    const unknown = uncompared ? `${uncompared} ${uncompared === 1 ? 'buffer' : 'buffers'} not compared` : '';
    return { tone: 'bad', title: ['Finished', defects, checks, unknown].filter(Boolean).join('; '), detail };
  }
  if (verdict === 'compile-error') {
    const errors = result.diagnostics?.filter(({ severity }) => severity === 'error').length ?? 0;
    const title = errors > 0 ? `${errors} ${errors === 1 ? 'error' : 'errors'}: the kernel did not compile` : 'The kernel did not compile';
    // The list of messages says it again, at its line.
    return { tone: 'bad', title, detail: errors ? '' : detail };
  }
  if (verdict === 'cancelled') return { tone: 'neutral', title: 'Cancelled', detail };
  if (verdict === 'signal') return { tone: 'bad', title: 'The run ended abnormally', detail };
  if (verdict.startsWith('limit:')) return { tone: 'bad', title: limitTitle(verdict.slice(6)), detail };
  return { tone: 'bad', title: findings ? `The kernel was stopped: ${findings === 1 ? 'a defect' : `${findings} defects`} found` : 'The run failed', detail };
}
