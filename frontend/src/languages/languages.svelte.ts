/** Another language for the open source: chosen, or recognised in what was pasted or opened; always said, and undone by a press. */
import type { Language } from '../api/types';
import type { Draft } from '../document/draft';
import { openExample } from '../state/commands';
import { inspection } from '../state/inspection.svelte';
import { openNew } from '../state/route';
import { service } from '../state/service.svelte';
import { workspace } from '../state/workspace.svelte';
import { counterpart, languageOfFile, renamed, SHORT } from './languages';
import { recognise } from './recognise';

export interface Offer {
  label: string;
  act(): void;
}

export interface Notice {
  text: string;
  offers: readonly Offer[];
  /** The document that it speaks of. */
  key: string;
  /** The source that it speaks of, and the draft before it: the editor's own undo may bring that one's text back. */
  source: string;
  undone: Draft | null;
}

const SIGN: Record<Language, string> = { 'cuda-c++': 'CUDA C++', numba: 'Python with numba.cuda', ptx: 'PTX' };

class Languages {
  private last = $state.raw<Notice | null>(null);
  notice = $derived(this.last?.key === workspace.origin.key ? this.last : null);

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
    const before = $state.snapshot(workspace.draft);
    this.turn(language);
    const offers = [this.back(before)];
    if (other) offers.push({ label: `Open this example in ${SHORT[language]}`, act: () => openExample(other) });
    else offers.push({ label: 'Start a new kernel', act: () => void openNew(language) });
    this.say(`The text is as it was; only its language is ${SHORT[language]} now.`, offers, before);
  }

  /** After a paste: what the document has become says its language. `before` is the draft as it was. */
  pasted(before: Draft): void {
    const found = recognise(workspace.draft.source);
    if (found === null || found === workspace.draft.language) return;
    if (found !== 'cupy') this.recognised(found, before);
  }

  /** A file was opened: its name says its language, else its text does. `before` is the draft as it was. */
  opened(before: Draft): void {
    const { source, fileName, language } = workspace.draft;
    const told = recognise(source);
    const found = told && told !== 'cupy' ? told : languageOfFile(fileName);
    if (found && found !== language) this.recognised(found, before);
  }

  dismiss(): void {
    this.last = null;
  }

  restore(before: Draft): void {
    workspace.draft = before;
    this.last = null;
  }

  say(text: string, offers: readonly Offer[], undone: Draft | null = null): void {
    this.last = { text, offers, key: workspace.origin.key, source: workspace.draft.source, undone };
  }

  back(before: Draft): Offer {
    return { label: 'Undo', act: () => this.restore(before) };
  }

  private recognised(language: Language, before: Draft): void {
    this.turn(language);
    this.say(`This is ${SIGN[language]}, so the language is ${SHORT[language]} now.`, [this.back(before)], before);
  }

  private turn(language: Language): void {
    workspace.draft.language = language;
    workspace.draft.fileName = renamed(workspace.draft.fileName, language);
    // What was compiled before speaks of another language, though the text may be the same.
    inspection.forget();
  }
}

export const languages = new Languages();
