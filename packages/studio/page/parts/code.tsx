// Code with its words coloured.
import { common, createLowlight } from 'lowlight';
import type { ComponentChildren, VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { useAction } from './hooks.ts';

const lowlight = createLowlight(common);
/** Longer code stays plain: colouring it would hold up the page. */
const MAX_COLOURED = 20_000;

type Tree = ReturnType<typeof lowlight.highlight>;
type TreeNode = Tree['children'][number];

export function Code({ text, language }: { text: string; language?: string | undefined }): VNode {
  const coloured = useMemo(() => colour(text, language), [text, language]);
  const [isCopied, setCopied] = useState(false);
  const { error, act } = useAction();
  const copy = () =>
    act(async () => {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 1_500);
    });
  return (
    <div class="code">
      <div class="code-head">
        <span>{language ?? ''}</span>
        {error && <span class="bad">The browser does not allow copying here.</span>}
        <button type="button" class="quiet" onClick={copy}>
          {isCopied ? 'Copied' : 'Copy'}
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>
        <code>{coloured}</code>
      </pre>
    </div>
  );
}

function colour(text: string, language: string | undefined): ComponentChildren {
  if (language === undefined || text.length > MAX_COLOURED || !lowlight.registered(language)) return text;
  return lowlight.highlight(language, text).children.map(draw);
}

function draw(node: TreeNode, index: number): ComponentChildren {
  if (node.type === 'text') return node.value;
  if (node.type !== 'element') return null;
  const names = node.properties.className;
  return (
    <span key={index} class={Array.isArray(names) ? names.join(' ') : ''}>
      {node.children.map((child, place) => draw(child, place))}
    </span>
  );
}
