# syntax=docker/dockerfile:1
FROM node:24-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
# The image holds what the npm package holds.
RUN npm run build && npm pack --ignore-scripts && tar -xzf kubelevel-*.tgz && npm prune --omit=dev && mv node_modules package/

FROM node:24-slim
LABEL org.opencontainers.image.title="kubelevel" org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
COPY --from=build /src/package ./
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 6443
# The certificate is the server's own: this checks whether it answers, not who it is.
HEALTHCHECK --interval=5s --timeout=3s --start-period=5s CMD ["node", "-e", "require('https').get({host:'127.0.0.1',port:6443,path:'/livez',rejectUnauthorized:false},r=>process.exit(r.statusCode===200?0:1)).on('error',()=>process.exit(1))"]
ENTRYPOINT ["node", "dist/bundle/main.js"]
CMD ["serve", "--bind-address=0.0.0.0", "--data-dir=/data"]
