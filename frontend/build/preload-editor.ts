/** The editor is a lazy chunk so that the shell paints first; preloading lets both download at once. */
import type { Plugin } from 'vite';

export function preloadEditor(): Plugin {
  return {
    name: 'preload-editor',
    enforce: 'post',
    transformIndexHtml: {
      order: 'post',
      handler(html, context) {
        const editor = Object.values(context.bundle ?? {}).find(
          (chunk) => chunk.type === 'chunk' && chunk.facadeModuleId?.endsWith('/editor/Editor.svelte'),
        );
        if (editor?.type !== 'chunk') return [];
        return [editor.fileName, ...editor.imports]
          .filter((file) => !html.includes(file))
          .map((file) => ({ tag: 'link', attrs: { rel: 'modulepreload', crossorigin: true, href: `/${file}` }, injectTo: 'head' }));
      },
    },
  };
}
