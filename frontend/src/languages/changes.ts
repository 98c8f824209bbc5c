/** Another language for the open source: chosen, or recognised in what was pasted or opened; always said, and undone by a press. */
import { api } from '../api/client';
import type { Language, Recognised, RecognisedKernel } from '../api/types';
import type { Draft } from '../document/draft';
import { loadPayload } from '../document/load';
import { unrelated } from '../document/replaced';
import { openExample } from '../state/commands';
import { inspection } from '../state/inspection.svelte';
import { openNew } from '../state/route';
import { service } from '../state/service.svelte';
import { type Remark, ui } from '../state/ui.svelte';
import { workspace } from '../state/workspace.svelte';
import { counterpart, languageOfFile, renamed, SHORT } from './languages';
import { recognise } from './recognise';

const SIGN: Record<Language, string> = { 'cuda-c++': 'CUDA C++', numba: 'Python with numba.cuda', ptx: 'PTX' };

const copy = (draft: Draft): Draft => JSON.parse(JSON.stringify(draft)) as Draft;

const CUPY = 'This is Python that uses CuPy';

class Languages {
  /** The picker. An untouched example opens in the other language; a text that was edited stays as it is. */
  choose(language: Language): void {
    const was = workspace.draft.language;
    if (language === was) return;
    const example = service.examples.find(({ id }) => workspace.origin.key === `example:${id}`);
    const other = example && counterpart(example.id, language, service.examples);
    if (!workspace.edited && other) {
      openExample(other);
      this.say(`This is the same example in ${SHORT[language]}.`, [{ label: `Back to ${SHORT[was]}`, act: () => openExample(example) }]);
      return;
    }
    if (!workspace.edited && workspace.origin.key.startsWith('new')) {
      void openNew(language);
      return;
    }
    const before = copy(workspace.draft);
    this.turn(language);
    const offers = [this.back(before)];
    if (other) offers.push({ label: `Open this example in ${SHORT[language]}`, act: () => openExample(other) });
    else offers.push({ label: 'Start a new kernel', act: () => void openNew(language) });
    this.say(`The text is as it was; only its language is ${SHORT[language]} now.`, offers, before);
  }

  /** After a paste: what the document has become says its language. `before` is the draft as it was. */
  pasted(before: Draft): void {
    const { source } = workspace.draft;
    // What was said of a text that is gone goes too.
    if (ui.remark && unrelated(ui.remark.source, source)) ui.remark = null;
    const found = recognise(source);
    if (found === 'cupy') void this.offerKernels(before);
    else if (found && found !== workspace.draft.language) this.recognised(found, before);
    else if (found === 'numba') void this.offerLaunches(before, '');
  }

  /** A file was opened: its name says its language, else its text does. `before` is the draft as it was. */
  opened(before: Draft): void {
    const { source, fileName, language } = workspace.draft;
    const found = recognise(source) ?? languageOfFile(fileName);
    if (found === 'cupy') void this.offerKernels(before);
    else if (found && found !== language) this.recognised(found, before);
  }

  restore(before: Draft): void {
    workspace.draft = before;
    ui.remark = null;
  }

  say(text: string, offers: Remark['offers'], undone: Draft | null = null): void {
    ui.remark = { text, offers, key: workspace.origin.key, source: workspace.draft.source, undone };
  }

  back(before: Draft): Remark['offers'][number] {
    return { label: 'Undo', act: () => this.restore(before) };
  }

  /** Python that makes kernels through CuPy: each of them is offered as CUDA C++ with its launch. */
  private async offerKernels(before: Draft): Promise<void> {
    const offers = [this.back(before)];
    this.turn('numba');
    const { source } = workspace.draft;
    this.say(`${CUPY}. Looking for its kernels…`, offers, before);
    let found: Recognised;
    try {
      found = await api.recognise(source);
    } catch (error) {
      this.say(`${CUPY}. Its kernels could not be looked for: ${error instanceof Error ? error.message : String(error)}`, offers, before);
      return;
    }
    if (workspace.draft.source !== source) return;
    const { kernels = [], diagnostics = [], message } = found;
    const told = diagnostics.map(({ message: text, span }) => `${span ? `line ${span.line}: ` : ''}${text}`);
    const remarks = [...(message ? [message] : []), ...told].slice(0, 3).join('; ');
    if (!kernels.length) this.say(`${CUPY}, but no kernel can be taken out of it${remarks ? `: ${remarks}` : ''}.`, offers, before);
    else {
      const question = kernels.length === 1 ? 'take its kernel as CUDA C++?' : 'take one of its kernels as CUDA C++?';
      const takes = kernels.map((kernel) => ({ label: `Take ${kernel.name}`, act: () => this.take(kernel, before) }));
      this.say(`${CUPY}: ${question}${remarks ? ` (${remarks})` : ''}`, [...takes, ...offers], before);
    }
  }

  /** The kernel takes the place of the Python that holds it; undone, that is back and its kernels are offered again. */
  private take(kernel: RecognisedKernel, before: Draft): void {
    const python = copy(workspace.draft);
    const { architecture, device } = python;
    workspace.draft = { ...loadPayload({ title: kernel.name, request: kernel.request }), architecture, device };
    inspection.forget();
    const undo = () => {
      this.restore(python);
      void this.offerKernels(before);
    };
    this.say(`This is the ${kernel.kind} of line ${kernel.line} in CUDA C++, with its launch as far as it is written out.`, [{ label: 'Undo', act: undo }]);
  }

  /** Host code of a Numba script that launches its kernels: what it launches them with is offered. */
  private async offerLaunches(before: Draft, said: string): Promise<void> {
    const { source } = workspace.draft;
    // Without an answer nothing is offered; the form stands as ever.
    const { kernels = [] } = await api.recognise(source).catch((): Recognised => ({}));
    const launched = kernels.filter(({ kind, request: { steps } }) => kind === 'numba' && steps.some((step) => step.kind === 'launch' && step.arguments?.length));
    if (!launched.length || workspace.draft.source !== source || workspace.draft.language !== 'numba') return;
    const takes = launched.map((kernel) => ({ label: `Launch ${kernel.name} as written`, act: () => this.launch(kernel) }));
    this.say(`${said}The script launches ${launched.length === 1 ? 'its kernel' : 'its kernels'} itself: take its grid, block and arguments?`.trim(), [...takes, this.back(before)], before);
  }

  private launch(kernel: RecognisedKernel): void {
    const form = copy(workspace.draft);
    const { buffers, steps } = loadPayload({ request: kernel.request });
    // The script does not say what its kernels only read; the compiler does.
    workspace.draft = { ...form, buffers: buffers.map((buffer) => ({ ...buffer, roleFollows: true })), steps };
    this.say(`The launch is that of the script, ${kernel.name} in line ${kernel.line}.`, [this.back(form)]);
  }

  private recognised(language: Language, before: Draft): void {
    this.turn(language);
    const said = `This is ${SIGN[language]}, so the language is ${SHORT[language]} now.`;
    this.say(said, [this.back(before)], before);
    if (language === 'numba') void this.offerLaunches(before, `${said} `);
  }

  private turn(language: Language): void {
    workspace.draft.language = language;
    workspace.draft.fileName = renamed(workspace.draft.fileName, language);
    // What was compiled before speaks of another language, though the text may be the same.
    inspection.forget();
  }
}

export const languages = new Languages();
