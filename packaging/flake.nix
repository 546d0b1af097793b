# laguna-tui from the files of a release, each fetched by its hash (sources.json, beside this file). llama.cpp is compiled.
{
  description = "@SUMMARY@";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-25.11";

  outputs =
    { self, nixpkgs }:
    let
      sources = builtins.fromJSON (builtins.readFile ./sources.json);

      package =
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
          builder = pkgs.python313.withPackages (packages: [
            packages.pip
            packages.scikit-build-core
          ]);
          fetched = file: {
            inherit (file) name;
            path = pkgs.fetchurl { inherit (file) name url sha256; };
          };
        in
        pkgs.stdenv.mkDerivation {
          pname = "laguna-tui";
          version = "@VERSION@";
          src = pkgs.linkFarm "laguna-tui-files" (map fetched sources.${system});
          dontUnpack = true;
          dontUseCmakeConfigure = true;
          nativeBuildInputs = [
            builder
            pkgs.cmake
            pkgs.ninja
            pkgs.makeWrapper
          ]
          ++ pkgs.lib.optional pkgs.stdenv.isLinux pkgs.autoPatchelfHook;
          buildInputs = [ pkgs.stdenv.cc.cc.lib ];
          # The result runs on every processor of the system, not only on the builder's.
          CMAKE_ARGS = "-DGGML_NATIVE=off";
          installPhase = ''
            runHook preInstall
            ${builder}/bin/python -m pip install --no-index --no-build-isolation --no-cache-dir \
              --find-links $src --prefix $out laguna-tui==@VERSION@
            wrapProgram $out/bin/laguna-tui \
              --prefix PYTHONPATH : $out/${pkgs.python313.sitePackages} \
              --prefix PATH : ${
                pkgs.lib.makeBinPath ([ pkgs.git ] ++ pkgs.lib.optional pkgs.stdenv.isLinux pkgs.bubblewrap)
              }
            runHook postInstall
          '';
          meta = {
            description = "@SUMMARY@";
            homepage = "@HOMEPAGE@";
            license = pkgs.lib.licenses.asl20;
            mainProgram = "laguna-tui";
          };
        };
    in
    {
      packages = builtins.mapAttrs (system: files: { default = package system; }) sources;
    };
}
