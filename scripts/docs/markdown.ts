// Reads and changes Markdown: links, headings, titles.

/** Matches links and images, and also code, in which they must be ignored. */
const codeOrLink =
  /^(?:`{3,}|~{3,})[\s\S]*?^(?:`{3,}|~{3,})|`[^`\n]+`|(!?)\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s]+)((?: "[^"\n]*")?)\)/gm;

export interface Link {
  label: string;
  target: string;
  isImage: boolean;
}

export function linksOf(text: string): Link[] {
  return [...text.matchAll(codeOrLink)]
    .filter(([, , , target]) => target !== undefined)
    .map(([, bang, label = '', target = '']) => ({ label, target, isImage: bang === '!' }));
}

/** Replaces the target of each link inside this repository. If `change` returns undefined, only the label stays. */
export function withLinks(text: string, change: (link: Link) => string | undefined): string {
  return text.replace(codeOrLink, (whole, bang: string, label: string, target: string | undefined, title: string) => {
    if (target === undefined || isExternal(target)) return whole;
    const changed = change({ label, target, isImage: bang === '!' });
    return changed === undefined ? label : `${bang}[${label}](${changed}${title})`;
  });
}

export function isExternal(target: string): boolean {
  return /^(?:https?|mailto):/.test(target);
}

/** The anchor of a heading, as GitHub writes it in links. */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

export function anchorsOf(text: string): string[] {
  const headings = text.replace(/^```.*?^```/gms, '').matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = '']) => slugOf(heading));
}

export function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1]?.trim() ?? '';
}

/** The first sentence of the page as plain text. */
export function descriptionOf(text: string): string {
  const [, paragraph = ''] = /^# .+\n\s*\n((?:(?!```|[#|<>]|- )[^\n]+\n)+)/m.exec(text) ?? [];
  const plain = withLinks(paragraph, () => undefined)
    .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replace(/[*`]/g, '')
    .replace(/\s+/g, ' ');
  const end = plain.search(/[.:](?= |$)/);
  return (end < 0 ? plain : `${plain.slice(0, end)}.`).trim();
}
