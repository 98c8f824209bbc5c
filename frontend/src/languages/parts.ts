/** What the code pane shows of languages, in one chunk. */
export { default as Notice } from './LanguageNotice.svelte';
export { default as Picker } from './LanguagePicker.svelte';
