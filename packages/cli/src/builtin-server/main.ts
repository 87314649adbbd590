#!/usr/bin/env node
// Starts the built-in MCP server on stdio; the process ends when its standard input closes.
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createBuiltinServer } from './server.ts';

serveStdio(createBuiltinServer, { onerror: (error) => console.error(error.message) });
