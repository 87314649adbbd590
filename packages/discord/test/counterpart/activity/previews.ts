// The links that Discord previews: those outside of code and angle brackets.
import { MessageFlags } from 'discord-api-types/v10';
import type { StoredMessage } from '../state/records.ts';

export function previewed({ content, flags }: Pick<StoredMessage, 'content' | 'flags'>): string[] {
  if ((flags & MessageFlags.SuppressEmbeds) !== 0) return [];
  const withoutCode = content.replaceAll(/```[\s\S]*?```|`[^`]*`/g, '');
  return [...withoutCode.matchAll(/(<?)(https?:\/\/[^\s<>)]+)(>?)/gi)].flatMap(([, open, link, close]) =>
    open === '<' && close === '>' ? [] : (link ?? []),
  );
}
