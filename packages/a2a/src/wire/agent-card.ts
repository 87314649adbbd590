// The agent card of A2A 1.0, as JSON.

interface AgentInterface {
  url: string;
  protocolBinding: string;
  protocolVersion: string;
  tenant?: string;
}

/** A skill that an agent declares. */
export interface AgentSkill {
  id: string;
  name: string;
  description: string;
  tags: string[];
  examples?: string[];
  inputModes?: string[];
  outputModes?: string[];
}

/** An addition to A2A that an agent understands. */
export interface AgentExtension {
  uri: string;
  description?: string;
  /** Callers that do not declare it are refused. */
  required?: boolean;
  params?: Record<string, unknown>;
}

/** What an agent publishes about itself, at `/.well-known/agent-card.json`. */
export interface AgentCard {
  name: string;
  description: string;
  version: string;
  supportedInterfaces: AgentInterface[];
  capabilities: {
    streaming?: boolean;
    pushNotifications?: boolean;
    extendedAgentCard?: boolean;
    extensions?: AgentExtension[];
  };
  defaultInputModes: string[];
  defaultOutputModes: string[];
  skills: AgentSkill[];
  provider?: { organization: string; url: string };
  documentationUrl?: string;
  iconUrl?: string;
  securitySchemes?: Record<string, Record<string, unknown>>;
  securityRequirements?: { schemes: Record<string, { list?: string[] }> }[];
}

/** The path of an agent card below the address of the agent. */
export const CARD_PATH = '.well-known/agent-card.json';
/** The path of the keys that sign the card. */
export const KEYS_PATH = '.well-known/jwks.json';
export const VERSION_HEADER = 'a2a-version';
