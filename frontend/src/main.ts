import { mount } from 'svelte';
import App from './App.svelte';
import './styles/base.css';

declare global {
  interface Window {
    trustedTypes?: { createPolicy(name: string, rules: { createScriptURL(url: string): string }): unknown };
  }
}

// Trusted Types: the only script addresses that the page ever makes are its own.
window.trustedTypes?.createPolicy('default', {
  createScriptURL(url) {
    if (new URL(url, location.href).origin !== location.origin) throw new TypeError(`not a script of this page: ${url}`);
    return url;
  },
});

const target = document.getElementById('app')!;
target.replaceChildren();
mount(App, { target });
