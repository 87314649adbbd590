// Child process that reads the text of one PDF and ends. It imports only the PDF library, to start fast.
import { writeFileSync } from 'node:fs';
import { extractText, getDocumentProxy } from 'unpdf';

const MAX_PAGES = 2_000;
/** Far more than a model receives of a file. */
const MAX_CHARACTERS = 1_000_000;

export type PdfMessage = 'ready' | { text: string } | { problem: string };

try {
  writeFileSync('/proc/self/oom_score_adj', '1000'); // when the machine runs out of memory, end this process first
} catch {
  // not on Linux
}

process.once('message', async (bytes: Uint8Array) => {
  process.send?.(await answer(bytes), () => process.disconnect());
});
process.send?.('ready' satisfies PdfMessage);

async function answer(bytes: Uint8Array): Promise<PdfMessage> {
  try {
    const document = await getDocumentProxy(new Uint8Array(bytes), { stopAtErrors: false, verbosity: 0 });
    if (document.numPages > MAX_PAGES) return { problem: `it has more than ${MAX_PAGES} pages` };
    const { text } = await extractText(document);
    return { text: text.join('\n\n').trim().slice(0, MAX_CHARACTERS) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}
