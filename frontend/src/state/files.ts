/** Files that are saved on the user's disk; without the service too. */
import { workspace } from './workspace.svelte';

/** Hands a blob to the browser to save. */
export function download(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function saveSource(): void {
  download(new Blob([workspace.draft.source], { type: 'text/plain' }), workspace.draft.fileName);
}
