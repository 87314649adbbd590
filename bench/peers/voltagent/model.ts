// A script as a model of VoltAgent, and an agent that keeps nothing beside its work.
import { type AgentOptions, createVoltAgentObservability } from '@voltagent/core';
import { aiSdkModel } from '../../ai-sdk-model.ts';
import type { Script } from '../../script.ts';

/** Version 3 of the interface is the same as far as it is used here. */
export function olderModel(script: Script): AgentOptions['model'] {
  return { ...aiSdkModel(script), specificationVersion: 'v3' } as unknown as AgentOptions['model'];
}

const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, fatal() {}, child: () => silent };
const nothing = async () => [];
const none = async () => {};

/** No memory, no lines, and of what it records of runs for its console nothing is stored. */
export const keepingNothing = {
  memory: false as const,
  logger: silent,
  observability: createVoltAgentObservability({
    storage: {
      addSpan: none,
      updateSpan: none,
      getSpan: async () => null,
      getTrace: nothing,
      listTraces: nothing,
      saveLogRecord: none,
      getLogsByTraceId: nothing,
      getLogsBySpanId: nothing,
      queryLogs: nothing,
      deleteOldSpans: async () => 0,
      deleteOldLogs: async () => 0,
      clear: none,
    },
  }),
};
