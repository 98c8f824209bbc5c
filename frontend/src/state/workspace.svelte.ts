/** The open document: its draft, the kernels that its source has, and the faults of its fields. */
import type { Entry, FieldProblem, RunRequest, SharePayload, Sweep } from '../api/types';
import { build, type Built } from '../document/build';
import { type BufferDraft, type Draft, launchAt, type LaunchDraft, launches } from '../document/draft';
import { dropDraft, pruneDrafts, saveDraft, savedDraft, setAside, takeOther } from '../document/drafts';
import { callName, coverComponents, entryOf, hasTemplate, kernelsGone, successor } from '../document/entries';
import { loadPayload, referenced } from '../document/load';
import { faultAt, faultExactly, report, type Reported, stillStands } from '../document/problems';
import { reconcile } from '../document/reconcile';
import { type Former, layFlat, remember, restore, unrelated } from '../document/replaced';
import { coverGrid, readShape } from '../document/shape';
import { readExtent } from '../document/numbers';
import { ui } from './ui.svelte';

/** Where a document comes from; `key` names its draft. */
export interface Origin {
  key: string;
  /** The link that it was opened from, which becomes the parent of the next one. */
  share: string | null;
  /** The link that `share` was itself made from. */
  parent: string | null;
}

export const EMPTY: SharePayload = {
  request: {
    source: { text: '' },
    steps: [{ kind: 'launch', config: { grid: [1], block: [32] } }],
  },
};

const extent = (text: string): number => {
  const read = readExtent(text.trim() || '1', '');
  return read.ok ? read.value : 0;
};

class Workspace {
  draft = $state<Draft>(loadPayload(EMPTY));
  origin = $state.raw<Origin>({ key: 'new', share: null, parent: null });
  /** As it was opened, to tell an edited document and to go back to it. */
  original = $state.raw<SharePayload>(EMPTY);
  ready = $state(false);
  selected = $state('steps.0');
  /** Kernels of the last source that compiled. */
  entries = $state.raw<readonly Entry[]>([]);
  reported = $state.raw<readonly Reported[]>([]);
  /** The sweep that was tried last on this document; a link keeps it. */
  tried = $state.raw<Sweep | null>(null);
  private baseline = $state('');
  /** That another tab has the document too was said. */
  private told = false;
  /** Launches as they stood under kernels that another source has replaced, by path and kernel. */
  private former = new Map<string, Former>();
  /** The source of `entries`. */
  private adopted = '';
  /** The title that `entitle` gave. */
  private kernelTitle: string | null = null;

  built = $derived<Built>(build(this.draft, this.entries));
  edited = $derived(JSON.stringify(this.draft) !== this.baseline);
  launchPath = $derived(launchAt(this.draft.steps, this.selected) ? this.selected : (launches(this.draft.steps).next().value?.[0] ?? 'steps.0'));
  launch = $derived<LaunchDraft | null>(launchAt(this.draft.steps, this.launchPath));
  entry = $derived<Entry | null>(this.launch ? entryOf(this.launch.entry, this.entries) : null);
  problems = $derived<FieldProblem[]>([
    ...this.built.problems,
    ...this.reported.filter((problem) => stillStands(problem, this.built.request)),
  ]);
  /** Block in threads as typed, with 0 for what cannot be read. */
  block = $derived((this.launch?.block ?? ['1', '', '']).map(extent));
  /** Blocks along x, y, z; null where the covered buffer's shape cannot be read. */
  covered = $derived<number[] | null>(this.gridOf(this.launch));
  grid = $derived<number[]>(this.covered ?? [0, 0, 0]);
  buffersShown = $derived<BufferDraft[]>(this.bufferRows());

  open(payload: SharePayload, origin: Origin): void {
    this.save();
    this.original = payload;
    this.origin = origin;
    this.selected = 'steps.0';
    this.reported = [];
    this.tried = null;
    this.entries = [];
    this.kernelTitle = null;
    this.former.clear();
    this.adopted = '';
    const draft = loadPayload(payload);
    this.baseline = JSON.stringify(draft);
    const saved = savedDraft(origin.key);
    // A draft of an older page lacks what the form has learnt since.
    this.draft = saved ? { ...draft, ...saved } : draft;
    this.ready = true;
    if (saved) ui.say('Your edits of this document are back.');
  }

  /** Throws the edits away. */
  reset(): void {
    dropDraft(this.origin.key);
    this.ready = false;
    this.open(this.original, this.origin);
  }

  /** Keeps the edits in the browser; an unedited document leaves nothing behind. */
  save(): void {
    if (!this.ready) return;
    if (!this.edited) return dropDraft(this.origin.key);
    const kept = saveDraft(this.origin.key, this.draft);
    if (kept === 'shared' && !this.told) {
      this.told = true;
      ui.say('Another tab edits this document too. Each keeps its own text.');
    }
    if (kept === 'full') {
      pruneDrafts();
      ui.say('The browser’s storage is full: this draft is kept only while the page is open.', true);
    }
  }

  /** Shows what another tab wrote of this document, or says that there is nothing; this tab's text takes its place. */
  swap(): void {
    this.save();
    const other = takeOther(this.origin.key);
    if (!other) ui.say('No other tab has edits of this document.');
    else {
      setAside(this.origin.key, this.draft);
      this.draft = { ...this.draft, ...other };
    }
  }

  /** The form follows the kernels of a source that compiled. */
  adopt(entries: readonly Entry[], source = this.draft.source): void {
    const before = this.entries;
    const replaced = unrelated(this.adopted, source);
    this.entries = entries;
    const unedited = !this.edited;
    for (const [path, launch] of launches(this.draft.steps)) {
      const was = entryOf(launch.entry, before);
      const gone = launch.entry && !entryOf(launch.entry, entries) && !(launch.entry.includes('<') && hasTemplate(this.draft.source, launch.entry));
      const next = gone && successor(before, entries);
      if (next) launch.entry = callName(next);
      const entry = entryOf(launch.entry, entries);
      if (was && entry && replaced && callName(was) !== callName(entry)) this.exchange(path, launch, callName(was), callName(entry), source);
      if (entry) reconcile(this.draft, launch, entry);
    }
    this.adopted = source;
    this.entitle();
    // Naming the parameters of an example is no edit of the user's.
    if (unedited) this.baseline = JSON.stringify(this.draft);
  }

  /** The launch of a kernel that an unrelated one replaces; undone, the former comes back as it was. */
  private exchange(path: string, launch: LaunchDraft, was: string, now: string, source: string): void {
    this.former.set(`${path} ${was}`, remember(this.draft, { ...launch, entry: was }));
    const former = this.former.get(`${path} ${now}`);
    if (former) restore(this.draft, launch, former);
    else layFlat(this.draft, launch, source);
  }

  /** A document whose kernels have all been replaced is called by its kernel until the user names it. */
  private entitle(): void {
    const { title = '', request } = this.original;
    if (this.draft.title !== title && this.draft.title !== this.kernelTitle) return;
    const gone = this.entry && kernelsGone(request.source.text, this.draft.source);
    this.kernelTitle = gone ? callName(this.entry!).slice(0, 120) : null;
    this.draft.title = this.kernelTitle ?? title;
  }

  chooseEntry(name: string): void {
    if (!this.launch) return;
    this.launch.entry = name;
    if (this.entry) reconcile(this.draft, this.launch, this.entry);
  }

  buffer(name: string): BufferDraft | undefined {
    return this.draft.buffers.find((buffer) => buffer.name === name);
  }

  bufferPath(buffer: BufferDraft): string {
    return `buffers.${this.built.bufferIndex.get(buffer.key) ?? -1}`;
  }

  /** The fault at a path or below it. */
  fault(path: string): string | null {
    return faultAt(this.problems, path);
  }

  faultExactly(...paths: string[]): string | null {
    return faultExactly(this.problems, ...paths);
  }

  /** Faults of a request, by default of the document as it is. */
  report(problems: readonly FieldProblem[], request: RunRequest = this.built.request): void {
    this.reported = report(problems, request);
  }

  payload(): SharePayload {
    const sweep = this.tried ?? this.draft.sweep;
    return { schema_version: 1, title: this.draft.title.trim(), request: { ...this.built.request, ...(sweep && { sweep }) }, views: this.built.views };
  }

  private gridOf(launch: LaunchDraft | null): number[] | null {
    if (!launch) return null;
    if (!launch.cover) return launch.grid.map(extent);
    const shape = readShape(this.draft.buffers.find((buffer) => buffer.name === launch.cover)?.shape ?? '');
    return shape.ok ? coverGrid(shape.value, this.block, coverComponents(launch, this.entry)) : null;
  }

  /** Buffers that the selected launch has no row for but other steps use. */
  private bufferRows(): BufferDraft[] {
    const here = new Set((this.launch?.arguments ?? []).map((argument) => argument.buffer));
    const names = referenced(this.draft);
    return this.draft.buffers.filter(({ name, kept }) => !here.has(name) && (kept || names.has(name)));
  }
}

export const workspace = new Workspace();
