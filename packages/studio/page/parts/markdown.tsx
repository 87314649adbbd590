// Markdown as elements. Nothing in it can be HTML or run: the parser's tree is drawn node by node.
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import type { ComponentChildren, VNode } from 'preact';
import { memo } from 'preact/compat';
import { useMemo, useRef } from 'preact/hooks';
import { Code } from './code.tsx';
import { Wide } from './wide.tsx';

type Root = ReturnType<typeof fromMarkdown>;
type Block = Root['children'][number];
type MdNode = Block | Extract<Block, { type: 'paragraph' }>['children'][number];

/** What exceeds these is shown as plain text, because it would hold up the page. */
const MAX_CHARACTERS = 200_000;
const MAX_DEPTH = 50;
/** Of emphasis in one paragraph: the time of the parser grows with the square of their number. */
const MAX_MARKS = 2_000;

function blocksIn(text: string): readonly Block[] {
  const plain: Block = { type: 'code', value: text };
  if (text.length > MAX_CHARACTERS || hasTooManyMarks(text)) return [plain];
  try {
    const { children } = fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
    if (isFlat(children)) return children;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // the parser calls itself for each level
  }
  return [plain];
}

function hasTooManyMarks(text: string): boolean {
  const paragraphs = text.split(/\n[ \t]*\n/).filter((each) => !/^ *(?:```|~~~)/.test(each));
  return paragraphs.some((each) => (each.match(/[*_~]/g)?.length ?? 0) > MAX_MARKS);
}

function isFlat(blocks: readonly MdNode[]): boolean {
  let level = blocks;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return false;
    level = level.flatMap((node): readonly MdNode[] => ('children' in node ? node.children : []));
  }
  return true;
}

/** Blocks that are complete are kept, so a streamed text is not parsed again from its beginning. */
export function Markdown({ text }: { text: string }): VNode {
  const done = useRef<{ text: string; blocks: Block[] }>({ text: '', blocks: [] });
  const blocks = useMemo(() => {
    if (!text.startsWith(done.current.text)) done.current = { text: '', blocks: [] };
    const { text: settled, blocks: known } = done.current;
    const rest = text.slice(settled.length);
    const children = blocksIn(rest);
    const open = children.at(-1);
    const end = open?.position?.start.offset ?? 0;
    if (end > 0) done.current = { text: settled + rest.slice(0, end), blocks: [...known, ...children.slice(0, -1)] };
    return [...known, ...children];
  }, [text]);
  return (
    <div class="markdown">
      {blocks.map((block, index) => (
        <Drawn key={index} node={block} />
      ))}
    </div>
  );
}

/** Blocks that are kept are not drawn again. */
const Drawn = memo(({ node }: { node: MdNode }) => draw(node));

function draw(node: MdNode): ComponentChildren {
  switch (node.type) {
    case 'text':
      return node.value;
    case 'html':
      return node.value; // as text
    case 'paragraph':
      return <p>{all(node.children)}</p>;
    case 'heading':
      return heading(node.depth, all(node.children));
    case 'strong':
      return <strong>{all(node.children)}</strong>;
    case 'emphasis':
      return <em>{all(node.children)}</em>;
    case 'delete':
      return <del>{all(node.children)}</del>;
    case 'inlineCode':
      return <code>{node.value}</code>;
    case 'code':
      return <Code text={node.value} language={node.lang ?? undefined} />;
    case 'break':
      return <br />;
    case 'thematicBreak':
      return <hr />;
    case 'blockquote':
      return <blockquote>{all(node.children)}</blockquote>;
    case 'list':
      return node.ordered ? <ol start={node.start ?? 1}>{all(node.children)}</ol> : <ul>{all(node.children)}</ul>;
    case 'listItem':
      return (
        <li>
          {typeof node.checked === 'boolean' && <input type="checkbox" checked={node.checked} disabled />}
          {all(node.children)}
        </li>
      );
    case 'table':
      return (
        <Wide label="Table">
          <table>
            <thead>
              {node.children.slice(0, 1).map((row) => (
                <tr key="head">
                  {row.children.map((cell, index) => (
                    <th key={index}>{all(cell.children)}</th>
                  ))}
                </tr>
              ))}
            </thead>
            <tbody>{all(node.children.slice(1))}</tbody>
          </table>
        </Wide>
      );
    case 'tableRow':
      return <tr>{all(node.children)}</tr>;
    case 'tableCell':
      return <td>{all(node.children)}</td>;
    case 'link':
      return <Link url={node.url}>{all(node.children)}</Link>;
    case 'image':
      return <RemoteImage url={node.url} alt={node.alt ?? ''} />;
    default:
      return 'children' in node ? all(node.children) : 'value' in node ? node.value : null;
  }
}

function all(nodes: readonly MdNode[]): ComponentChildren {
  return nodes.map((node, index) => <Drawn key={index} node={node} />);
}

/** Headings of a message are below those of the page. */
function heading(depth: number, children: ComponentChildren): VNode {
  if (depth <= 1) return <h3>{children}</h3>;
  return depth === 2 ? <h4>{children}</h4> : <h5>{children}</h5>;
}

function Link({ url, children }: { url: string; children: ComponentChildren }): VNode {
  if (!/^(?:https?:|mailto:)/i.test(url)) return <span>{children}</span>;
  return (
    <a href={url} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}

/** A request to another server would tell it that the message was read, so the person decides. */
function RemoteImage({ url, alt }: { url: string; alt: string }): VNode {
  if (/^data:image\/(?:png|jpeg|gif|webp);base64,/.test(url)) return <img src={url} alt={alt} />;
  return <Link url={url}>image: {alt || url}</Link>;
}
