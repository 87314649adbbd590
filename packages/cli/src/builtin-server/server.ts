// The built-in MCP server: read-only tools for arithmetic, time, units and the text files of one folder.
import { type CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { VERSION } from '@pocket-agent/kit';
import { z } from 'zod';
import { calculate, formatNumber } from './calculator.ts';
import { listFiles, readTextFile, searchTextFiles } from './files.ts';
import { convertTime, describeConversion, describeTime, timeIn } from './time.ts';
import { convertUnits } from './units.ts';

const INSTRUCTIONS = `Read-only tools that need no network: arithmetic, time zones, unit conversion, and text files in the working folder.`;

const zonedTime = z.object({
  timeZone: z.string(),
  date: z.string(),
  time: z.string(),
  weekday: z.string(),
  utcOffset: z.string(),
  iso: z.string(),
});
const timeZone = (use: string) =>
  z
    .string()
    .max(100)
    .describe(`${use}: an IANA name (Asia/Tokyo), a city (Tokyo, New York), a country with one zone, or UTC+2`);
const folderPath = z
  .string()
  .max(1000)
  .optional()
  .describe('Folder, relative to the working folder; default: the working folder');

export function createBuiltinServer(): McpServer {
  const server = new McpServer({ name: 'pocket-agent-builtin', version: VERSION }, { instructions: INSTRUCTIONS });
  registerCalculator(server);
  registerTime(server);
  registerUnits(server);
  registerFiles(server, process.cwd());
  return server;
}

function registerCalculator(server: McpServer): void {
  server.registerTool(
    'calculate',
    {
      ...readOnly('Calculator'),
      description:
        'Calculate an arithmetic expression exactly: + - * / ^, mod, parentheses, percent ("17% of 2380"; "200 + 10%" is 220), ' +
        'sqrt abs round floor ceil min max ln log (base 10) exp sin cos tan (radians), pi, e.',
      inputSchema: z.object({
        expression: z.string().describe('For example "17% of 2380" or "sqrt(2) * (3 + 4)^2"'),
      }),
      outputSchema: z.object({ value: z.number() }),
    },
    ({ expression }) => {
      const text = formatNumber(calculate(expression));
      return answer(`${expression.replace(/[=?\s]+$/, '').trim()} = ${text}`, { value: Number(text) });
    },
  );
}

function registerTime(server: McpServer): void {
  server.registerTool(
    'current_time',
    {
      ...readOnly('Current time'),
      description: 'Get the current date and time, here or in another city, country or time zone.',
      inputSchema: z.object({ timeZone: timeZone('Place').optional() }),
      outputSchema: zonedTime,
    },
    (request) => {
      const now = timeIn(request.timeZone);
      return answer(`It is ${describeTime(now)}. ISO 8601: ${now.iso}`, now);
    },
  );
  server.registerTool(
    'convert_time',
    {
      ...readOnly('Convert time between zones'),
      description: 'Convert a time in one city or time zone to another, including daylight saving time.',
      inputSchema: z.object({
        time: z
          .string()
          .max(50)
          .describe('Wall-clock time: "15:30", "3:30 pm", or with a date "2026-03-29 15:30"; default date: today'),
        fromTimeZone: timeZone('Time zone of that time'),
        toTimeZone: timeZone('Time zone to convert to'),
      }),
      outputSchema: z.object({ from: zonedTime, to: zonedTime, note: z.string().optional() }),
    },
    (request) => {
      const converted = convertTime(request);
      return answer(describeConversion(converted), converted);
    },
  );
}

function registerUnits(server: McpServer): void {
  server.registerTool(
    'convert_units',
    {
      ...readOnly('Convert units'),
      description:
        'Convert a value between units of length, mass, temperature, volume (US), area, speed, time spans, data (kB is 1000, KiB 1024 bytes), energy or pressure.',
      inputSchema: z.object({
        value: z.number().describe('Amount in the unit "from"'),
        from: z.string().max(100).describe('Unit of the value, such as km, pounds, °F, GiB, square feet'),
        to: z.string().max(100).describe('Unit to convert to'),
      }),
      outputSchema: z.object({ value: z.number(), fromUnit: z.string(), toUnit: z.string() }),
    },
    ({ value, from, to }) => {
      const converted = convertUnits({ value, from, to });
      const units = `(${converted.fromUnit} to ${converted.toUnit})`;
      return answer(`${formatNumber(value)} ${from} = ${formatNumber(converted.value)} ${to} ${units}`, converted);
    },
  );
}

function registerFiles(server: McpServer, root: string): void {
  server.registerTool(
    'list_files',
    {
      ...readOnly('List files'),
      description: 'List files and folders with sizes, at most 500.',
      inputSchema: z.object({
        path: folderPath,
        recursive: z.boolean().optional().describe('Include subfolders, except node_modules and hidden folders'),
      }),
    },
    async (request) => answer(await listFiles(root, request)),
  );
  server.registerTool(
    'read_text_file',
    {
      ...readOnly('Read a text file'),
      description:
        'Read a UTF-8 text file in the working folder; long files are returned in parts. Files with secrets (.env, keys, .npmrc) are refused.',
      inputSchema: z.object({
        path: z.string().max(1000).describe('File, relative to the working folder'),
        startLine: z.number().int().min(1).optional().describe('First line, counted from 1; default 1'),
        lineCount: z.number().int().min(1).optional().describe('Number of lines; default: as many as fit'),
      }),
    },
    async (request) => answer(await readTextFile(root, request)),
  );
  server.registerTool(
    'search_text_files',
    {
      ...readOnly('Search text files'),
      description:
        'Find lines that contain a string or match a regular expression in the text files of the working folder. ' +
        'Skips node_modules, hidden folders, links, binary files and files with secrets. Stops after 100 matches or 2 seconds and says so.',
      inputSchema: z.object({
        query: z.string().min(1).max(500).describe('String or pattern to find'),
        regex: z
          .boolean()
          .optional()
          .describe(
            'Treat the query as a JavaScript regular expression; matches the first 2,000 characters of each line',
          ),
        caseSensitive: z.boolean().optional().describe('Match case; default false'),
        glob: z.string().max(200).optional().describe('Search only matching files, such as "*.ts" or "src/**/*.md"'),
        path: folderPath,
      }),
    },
    async (request, context) => answer(await searchTextFiles(root, request, context.mcpReq.signal)),
  );
}

function readOnly(title: string) {
  return {
    title,
    annotations: { title, readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    _meta: { capability: 'read' },
  };
}

function answer(text: string, structuredContent?: Record<string, unknown>): CallToolResult {
  const content: CallToolResult['content'] = [{ type: 'text', text }];
  return structuredContent ? { content, structuredContent } : { content };
}
