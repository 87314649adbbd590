// The thread that reads a PDF.
import { parentPort, workerData } from 'node:worker_threads';
import { pdfText } from './pdf.ts';

parentPort?.postMessage(pdfText(Buffer.from(workerData)));
