/** What the page needs at once but would ask for late: the lazy editor, and the fonts that the style sheet names. */
import type { HtmlTagDescriptor, Plugin } from 'vite';

function preload(file: string, attrs: Record<string, string>): HtmlTagDescriptor {
  return { tag: 'link', attrs: { ...attrs, crossorigin: true, href: `/${file}` }, injectTo: 'head' };
}

export function preloadEditor(): Plugin {
  return {
    name: 'preload-editor',
    enforce: 'post',
    transformIndexHtml: {
      order: 'post',
      handler(html, context) {
        const bundle = context.bundle ?? {};
        const editor = Object.values(bundle).find(
          (chunk) => chunk.type === 'chunk' && chunk.facadeModuleId?.endsWith('/editor/Editor.svelte'),
        );
        const modules = editor?.type === 'chunk' ? [editor.fileName, ...editor.imports].filter((file) => !html.includes(file)) : [];
        const fonts = Object.keys(bundle).filter((file) => file.endsWith('.woff2'));
        return [
          ...modules.map((file) => preload(file, { rel: 'modulepreload' })),
          ...fonts.map((file) => preload(file, { rel: 'preload', as: 'font', type: 'font/woff2' })),
        ];
      },
    },
  };
}
