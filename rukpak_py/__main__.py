from rukpak_py.operator.main import main

main()
