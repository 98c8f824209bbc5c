/** The protocol's diagnostics and findings as marks of the editor. */
import type { Action, Diagnostic as Mark } from '@codemirror/lint';
import type { Text } from '@codemirror/state';
import type { Diagnostic, Fix, Found, Span } from '../api/types';
import { columnOffset, wordEnd } from '../document/columns';

/** UTF-16 range of a span, never empty and never outside the document; null where its line is gone. */
export function rangeOf(doc: Text, span: Span): { from: number; to: number } | null {
  if (span.line > doc.lines) return null;
  const line = doc.line(span.line);
  const start = columnOffset(line.text, span.column ?? 1);
  const indent = /^\s*/.exec(line.text)![0].length;
  const whole = (span.column ?? 1) <= 1 && span.end_column == null;
  const from = line.from + (whole ? Math.min(indent, line.length) : start);
  let to = whole ? line.to : line.from + wordEnd(line.text, start);
  if (span.end_column != null && span.end_line != null && span.end_line <= doc.lines) {
    const last = doc.line(span.end_line);
    to = last.from + columnOffset(last.text, span.end_column);
  }
  if (to <= from) to = Math.min(from + 1, doc.length);
  return from >= to ? { from: Math.max(0, to - 1), to } : { from, to };
}

const SEVERITY: Record<Diagnostic['severity'], Mark['severity']> = {
  error: 'error',
  warning: 'warning',
  note: 'info',
  advice: 'hint',
};

export function wording(diagnostic: Diagnostic): string {
  const notes = (diagnostic.notes ?? []).map((note) => `\n${note}`).join('');
  return `${diagnostic.message}${notes}${diagnostic.help ? `\n${diagnostic.help}` : ''}`;
}

export function diagnosticMarks(doc: Text, diagnostics: readonly Diagnostic[], mend?: (fix: Fix) => void): Mark[] {
  return diagnostics.flatMap((diagnostic): Mark[] => {
    const range = diagnostic.span && diagnostic.file !== 'reference' && rangeOf(doc, diagnostic.span);
    if (!range) return [];
    const { fix } = diagnostic;
    const actions = fix && mend ? [{ name: `Fix: ${fix.title}`, apply: () => mend(fix) }] : [];
    return [{ ...range, severity: SEVERITY[diagnostic.severity], source: diagnostic.origin ?? 'compiler', message: wording(diagnostic), actions }];
  });
}

export function findingMarks(doc: Text, findings: readonly Found[], actions: Action[] = []): Mark[] {
  return findings.flatMap((finding): Mark[] => {
    const range = finding.span && rangeOf(doc, finding.span);
    return range ? [{ ...range, severity: finding.advice ? 'info' : 'error', source: 'this run', message: finding.message, actions }] : [];
  });
}
