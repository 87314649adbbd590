export default { serverExternalPackages: ['pocket-agent'] };
