/** Drafts in the browser's storage: each tab's own, and for the next tab the newest of each document. */
import type { Draft } from './draft';

const PREFIX = 'warpyard.draft.';
const VERSION = 1;
const KEPT = 30;

interface Saved {
  version: number;
  at: number;
  /** Which tab wrote it. */
  tab?: string;
  draft: Draft;
}

/** The newest draft of a document as this tab last saw or wrote it: another text there is another tab's. */
let seen: string | null = null;

function thisTab(): string {
  const known = sessionStorage.getItem('warpyard.tab');
  if (known) return known;
  const made = Math.random().toString(36).slice(2);
  sessionStorage.setItem('warpyard.tab', made);
  return made;
}

const asideKey = (document: string, tab: string): string => `${PREFIX}${document}~${tab}`;

/** ok; `shared`: the same where another tab's draft was there, which is kept beside it; `full` or forbidden storage. */
export function saveDraft(document: string, draft: Draft): 'ok' | 'shared' | 'full' {
  try {
    const tab = thisTab();
    const text = JSON.stringify({ version: VERSION, at: Date.now(), tab, draft } satisfies Saved);
    sessionStorage.setItem(PREFIX + document, text);
    const there = localStorage.getItem(PREFIX + document);
    const other = there !== null && there !== seen ? read(there) : null;
    const shared = other !== null && other.tab !== tab;
    if (shared) localStorage.setItem(asideKey(document, other.tab ?? ''), there!);
    localStorage.setItem(PREFIX + document, text);
    localStorage.removeItem(asideKey(document, tab));
    seen = text;
    return shared ? 'shared' : 'ok';
  } catch {
    return 'full';
  }
}

function read(text: string | null): Saved | null {
  try {
    const saved = JSON.parse(text ?? 'null') as Saved | null;
    return saved?.version === VERSION ? saved : null;
  } catch {
    return null;
  }
}

/** This tab's own draft, else the newest of any tab. */
export function savedDraft(document: string): Draft | null {
  const newest = localStorage.getItem(PREFIX + document);
  const own = sessionStorage.getItem(PREFIX + document);
  if (own === null || own === newest) seen = newest;
  return (read(own) ?? read(newest))?.draft ?? null;
}

/** Forgets this tab's draft; one that another tab has written since stays. */
export function dropDraft(document: string): void {
  sessionStorage.removeItem(PREFIX + document);
  const newest = localStorage.getItem(PREFIX + document);
  if (newest === seen || read(newest)?.tab === thisTab()) localStorage.removeItem(PREFIX + document);
  else seen = newest;
}

/** What another tab has written of the document beside this one’s: the oldest, taken out of the storage. */
export function takeOther(document: string): Draft | null {
  const own = asideKey(document, thisTab());
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(asideKey(document, '')) && key !== own);
  const [oldest] = keys.sort((left, right) => at(left) - at(right));
  if (oldest === undefined) return null;
  const other = read(localStorage.getItem(oldest));
  localStorage.removeItem(oldest);
  return other?.draft ?? null;
}

/** Keeps a text that this tab shows no more as if another tab had written it. */
export function setAside(document: string, draft: Draft): void {
  const tab = Math.random().toString(36).slice(2);
  localStorage.setItem(asideKey(document, tab), JSON.stringify({ version: VERSION, at: Date.now(), tab, draft } satisfies Saved));
}

const at = (key: string): number => read(localStorage.getItem(key))?.at ?? 0;

/** Removes the oldest drafts beyond a number that fits the storage. */
export function pruneDrafts(): void {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  for (const key of keys.sort((left, right) => at(right) - at(left)).slice(KEPT)) localStorage.removeItem(key);
}
