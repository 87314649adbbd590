// Files of a message: images are drawn, others named.
import type { VNode } from 'preact';
import type { SentFile } from '../../src/wire/wire.ts';
import { isDrawn } from './files.ts';

interface FileListProps {
  files: readonly SentFile[];
  /** For files that are not sent yet. */
  onRemove?(file: SentFile): void;
}

export function FileList({ files, onRemove }: FileListProps): VNode | null {
  if (files.length === 0) return null;
  return (
    <ul class="plain files">
      {files.map((file, index) => (
        <li key={index}>
          {isDrawn(file.mediaType) && file.data !== '' ? (
            <img src={`data:${file.mediaType};base64,${file.data}`} alt={file.name} />
          ) : (
            <span class="file">{file.name}</span>
          )}
          {onRemove && (
            <button type="button" class="quiet" aria-label={`Remove ${file.name}`} onClick={() => onRemove(file)}>
              ×
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
