import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';
import { brotli } from './build/brotli.ts';
import { cudaGrammar } from './build/cuda-grammar.ts';
import { preloadEditor } from './build/preload-editor.ts';

/** The editor without the languages. */
const EDITOR = /node_modules\/(@codemirror\/(state|view|language|autocomplete|commands|lint)|@lezer\/(common|highlight|lr)|style-mod|crelt|w3c-keyname|@marijn)\/|src\/editor\/(theme|marks|search)\.ts/;

export default defineConfig({
  plugins: [cudaGrammar(), svelte(), preloadEditor(), brotli()],
  base: '/',
  build: {
    target: 'es2022',
    // The content security policy allows no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What every visit needs lies together: cut up by who shares what, it compresses worse.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'base', test: /node_modules\/svelte\/|src\/state\/(workspace|ui|run|inspection)\.svelte/ },
            { name: 'codemirror', test: EDITOR },
          ],
        },
      },
    },
  },
  server: { proxy: { '/api': process.env.WARPYARD_API ?? 'http://127.0.0.1:8000' }, fs: { allow: ['..'] } },
  test: { include: ['src/**/*.test.ts'] },
});
