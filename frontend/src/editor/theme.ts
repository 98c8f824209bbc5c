/** How the editor looks; colours come from the page's custom properties, so that both themes share one sheet. */
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags as t } from '@lezer/highlight';
import { HUES } from './marks';

const look = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'transparent', color: 'var(--sy-var)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'var(--mono)',
    lineHeight: '1.6',
    fontVariantLigatures: 'none',
    scrollbarWidth: 'thin',
    scrollbarColor: 'var(--line-2) transparent',
  },
  '.cm-content': { padding: '10px 0', caretColor: 'var(--cur)' },
  '.cm-line': { padding: '0 6px' },
  '.cm-cursor': { borderLeft: '2px solid var(--cur)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': { background: 'var(--sel)' },
  '.cm-gutters': { background: 'var(--bg-1)', border: 'none', color: 'var(--fg-2)' },
  '.cm-lineNumbers .cm-gutterElement': { padding: '0 3px', minWidth: '24px', fontSize: '12px' },
  '.cm-activeLine': { backgroundColor: 'var(--line-active)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--line-active)', color: 'var(--fg-0)' },
  '.cm-foldGutter span': { color: 'var(--fg-2)', padding: '0 2px' },
  '.cm-foldPlaceholder': { background: 'var(--bg-3)', border: 'none', color: 'var(--fg-1)', padding: '0 6px' },
  '.cm-gutter-lint': { width: '13px' },
  '.cm-gutter-lint .cm-gutterElement': { padding: '0' },
  '.cm-lint-marker': { width: '9px', height: '9px', margin: '6px 2px', borderRadius: '50%', content: 'none' },
  '.cm-lint-marker-error': { background: 'var(--bad)' },
  '.cm-lint-marker-warning': { background: 'var(--warn)', borderRadius: '2px' },
  '.cm-lint-marker-info': { background: 'var(--d1)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { background: 'var(--accent-wash)', outline: '1px solid var(--accent)', color: 'inherit' },
  '.cm-selectionMatch': { background: 'var(--accent-wash)' },
  '.cm-tooltip': {
    background: 'var(--bg-2)',
    border: '1px solid var(--line-2)',
    borderRadius: '8px',
    boxShadow: 'var(--shadow)',
    color: 'var(--fg-0)',
    overflow: 'hidden',
    maxWidth: 'min(460px, 92vw)',
  },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', fontSize: '12.5px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { background: 'var(--bg-3)', color: 'var(--fg-0)' },
  '.cm-completionMatchedText': { color: 'var(--accent-fg)', textDecoration: 'none' },
  '.cm-completionDetail': { color: 'var(--fg-2)', fontStyle: 'normal' },
  '.cm-tooltip.cm-completionInfo': { padding: '0', maxWidth: '340px' },
  '.cuda-name': { padding: '10px 12px', fontSize: '12.5px', lineHeight: '1.45', maxWidth: '380px' },
  '.cuda-name code': { font: '500 12px var(--mono)', color: 'var(--accent-fg)' },
  '.cuda-name p': { margin: '6px 0 0', color: 'var(--fg-1)' },
  '.cuda-name .chip': { marginTop: '8px' },
  '.cm-diagnostic': { padding: '8px 12px', fontSize: '12.5px', fontFamily: 'var(--sans)', whiteSpace: 'pre-wrap', maxWidth: '440px' },
  '.cm-diagnostic-error': { borderLeft: '3px solid var(--bad)' },
  '.cm-diagnostic-warning': { borderLeft: '3px solid var(--warn)' },
  '.cm-diagnostic-info, .cm-diagnostic-hint': { borderLeft: '3px solid var(--d1)' },
  '.cm-diagnosticSource': { fontSize: '11px', opacity: '1', color: 'var(--fg-2)' },
  '.cm-lintRange': { backgroundImage: 'none', textUnderlineOffset: '3px' },
  '.cm-lintRange-error': { textDecoration: 'underline wavy var(--bad) 1.2px' },
  '.cm-lintRange-warning': { textDecoration: 'underline wavy var(--warn) 1.2px' },
  '.cm-lintRange-info, .cm-lintRange-hint': { textDecoration: 'underline dotted var(--d1) 1.5px' },
  '.cm-panels': { background: 'var(--bg-2)', color: 'var(--fg-0)', borderColor: 'var(--line)', fontFamily: 'var(--sans)' },
  '.cm-panels.cm-panels-bottom': { borderTop: '1px solid var(--line)' },
  '.cm-textfield': { background: 'var(--bg-inset)', border: '1px solid var(--line-input)', borderRadius: '4px', padding: '3px 7px', color: 'var(--fg-0)' },
  '.cm-button': { background: 'var(--bg-3)', border: '1px solid var(--line-2)', borderRadius: '4px', color: 'var(--fg-0)', backgroundImage: 'none' },
  '.cm-panel.cm-search label': { fontSize: '12px' },
  '.cm-panel.cm-search [name=close]': { color: 'var(--fg-1)', fontSize: '18px', padding: '0 6px' },
  '.cm-panel.cm-panel-lint ul': { maxHeight: '130px' },
  '.cm-panel.cm-panel-lint ul [aria-selected]': { background: 'var(--bg-3)', color: 'var(--fg-0)' },
  '.cm-panel.cm-panel-lint [name=close]': { color: 'var(--fg-1)' },
  '.cm-searchMatch': { background: 'var(--accent-wash)', outline: '1px solid var(--accent)' },
  '.cm-searchMatch.cm-searchMatch-selected': { background: 'var(--accent)', color: 'var(--accent-ink)' },
  '.cm-hot': { backgroundColor: 'var(--accent-wash)' },
  '.cm-faulty': { backgroundColor: 'var(--bad-wash)' },
  '.cm-hue-gutter': { width: '3px', marginRight: '2px' },
  '.cm-hue-gutter .cm-gutterElement > span': { display: 'block', width: '3px', height: '100%' },
  ...Object.fromEntries(Array.from({ length: HUES }, (_, hue) => [`.hue-${hue}`, { background: `var(--hue-${hue})` }])),
});

const ink = HighlightStyle.define([
  { tag: [t.controlKeyword, t.keyword, t.operatorKeyword, t.definitionKeyword, t.modifier, t.null, t.self], color: 'var(--sy-kw)' },
  { tag: [t.special(t.modifier), t.special(t.bracket)], color: 'var(--sy-cuda)', fontWeight: '600' },
  { tag: [t.typeName, t.standard(t.typeName), t.namespace, t.className], color: 'var(--sy-type)' },
  { tag: [t.function(t.variableName), t.function(t.propertyName), t.function(t.definition(t.variableName))], color: 'var(--sy-fn)' },
  { tag: [t.number, t.bool], color: 'var(--sy-num)' },
  { tag: [t.string, t.special(t.string), t.character, t.escape], color: 'var(--sy-str)' },
  { tag: t.comment, color: 'var(--sy-com)', fontStyle: 'italic' },
  { tag: [t.processingInstruction, t.meta, t.macroName, t.special(t.name), t.labelName], color: 'var(--sy-pre)' },
  { tag: [t.operator, t.punctuation, t.bracket], color: 'var(--sy-op)' },
  { tag: t.special(t.variableName), color: 'var(--sy-cuda)' },
  { tag: t.propertyName, color: 'var(--sy-var)' },
]);

/** CodeMirror puts its sheet into the page under the nonce of the content security policy. */
const nonce = (): string => document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? '';

export const appearance = (): Extension => [EditorView.cspNonce.of(nonce()), look, syntaxHighlighting(ink)];
