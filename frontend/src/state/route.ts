/** Opens the document that the address names. */
import { api, ApiError } from '../api/client';
import type { Language, RunRequest, SharePayload } from '../api/types';
import { sameRequest } from '../document/compare';
import { remembered, run } from './run.svelte';
import { service } from './service.svelte';
import { ui } from './ui.svelte';
import { EMPTY, workspace } from './workspace.svelte';

/** Without the service this part may not come either; an empty editor is there all the same. */
const starter = (language: string): Promise<SharePayload> =>
  import('./starter').then(({ STARTERS }) => STARTERS[language as Language] ?? STARTERS['cuda-c++'], () => EMPTY);

const openStarter = async (language: string): Promise<void> =>
  workspace.open(await starter(language), { key: `new:${language}`, share: null, parent: null });

/** A document of the user's own; its edits are found again under the same address. */
export async function openNew(language: Language): Promise<void> {
  run.forget();
  history.pushState(null, '', `/#new=${encodeURIComponent(language)}`);
  await openStarter(language);
  ui.pane = 'code';
}

const sharedId = (): string | null => /^\/k\/([^/]+)\/?$/.exec(location.pathname)?.[1] ?? null;

async function openShared(id: string): Promise<boolean> {
  try {
    const share = await api.sharedLink(id);
    workspace.open(share.payload, { key: `share:${id}`, share: id, parent: share.parent });
    if (share.run) run.carried = { run: share.run, at: share.created_at };
    if (share.run && !remembered().id) await run.reopen(share.run);
    return true;
  } catch (error) {
    const missing = error instanceof ApiError && error.status === 404;
    ui.say(missing ? 'There is no kernel behind this link. It may have been mistyped.' : String((error as Error).message), true);
    return false;
  }
}

/** A run's own request as the document. */
export function openRun(request: RunRequest, id: string): void {
  workspace.open({ title: `Run ${id}`, request }, { key: `run:${id}`, share: null, parent: null });
}

export async function openAddress(): Promise<void> {
  const loading = service.load();
  const hash = new URLSearchParams(location.hash.slice(1));
  const { id: runId, own } = remembered();
  const shared = sharedId();
  const opened = shared ? await openShared(shared) : false;
  const fresh = hash.get('new');
  if (!opened && fresh) await openStarter(fresh);
  else if (!opened) {
    await loading;
    const wanted = hash.get('example');
    const example = service.examples.find(({ id }) => id === wanted) ?? service.examples[0];
    if (wanted && example?.id !== wanted) ui.say(`There is no example called ${wanted}.`, true);
    if (example) workspace.open(example.payload, { key: `example:${example.id}`, share: null, parent: null });
    else await openStarter('cuda-c++');
  }
  const compared = hash.get('compare')?.split(',') ?? [];
  if (compared.length === 2) {
    ui.compared = compared;
    ui.dialog = 'compare';
  }
  if (runId) {
    const request = await run.reopen(runId);
    // A run of somebody else's comes with what they ran, unless that is what stands here.
    if (request && !own && !sameRequest(request, workspace.built.request)) openRun(request, runId);
  }
}

/** A run of the history, with the document that it ran unless that stands here already. */
export async function reopen(id: string): Promise<void> {
  const request = await run.reopen(id);
  if (!request) {
    ui.say('The service does not keep this run any more.', true);
    return;
  }
  const { sweep: _, ...ran } = request;
  if (!sameRequest(ran, workspace.built.request)) {
    openRun(request, id);
    run.standAlone(id);
  }
  ui.show(request.sweep ? 'sizes' : 'output');
}
