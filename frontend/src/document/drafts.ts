/** Drafts in the browser's storage, one a document. */
import type { Draft } from './draft';

const PREFIX = 'warpyard.draft.';
const VERSION = 1;
const KEPT = 30;

interface Saved {
  version: number;
  at: number;
  draft: Draft;
}

/** False where the storage is full or forbidden. */
export function saveDraft(document: string, draft: Draft): boolean {
  const saved: Saved = { version: VERSION, at: Date.now(), draft };
  try {
    localStorage.setItem(PREFIX + document, JSON.stringify(saved));
    return true;
  } catch {
    return false;
  }
}

function read(key: string): Saved | null {
  try {
    const saved = JSON.parse(localStorage.getItem(key) ?? 'null') as Saved | null;
    return saved?.version === VERSION ? saved : null;
  } catch {
    return null;
  }
}

export const savedDraft = (document: string): Draft | null => read(PREFIX + document)?.draft ?? null;

export const dropDraft = (document: string): void => localStorage.removeItem(PREFIX + document);

/** Removes the oldest drafts beyond a number that fits the storage. */
export function pruneDrafts(): void {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  const oldest = keys.sort((left, right) => (read(right)?.at ?? 0) - (read(left)?.at ?? 0)).slice(KEPT);
  for (const key of oldest) localStorage.removeItem(key);
}
