// Names that the semantic conventions of OpenTelemetry give to model providers.

const wellKnown: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  'azure-openai': 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  'amazon-bedrock': 'aws.bedrock',
  google: 'gcp.gemini',
  gemini: 'gcp.gemini',
  'google.vertex': 'gcp.vertex_ai',
  'google-vertex': 'gcp.vertex_ai',
  vertex: 'gcp.vertex_ai',
  mistral: 'mistral_ai',
  moonshotai: 'moonshot_ai',
  xai: 'x_ai',
};

/** `provider` as AI SDK models state it, such as `anthropic.messages`. */
export function providerName(provider: string): string {
  const [first = provider, second = ''] = provider.split('.');
  return wellKnown[`${first}.${second}`] ?? wellKnown[first] ?? first;
}
